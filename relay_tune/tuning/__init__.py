"""Tasks, budget, and the loop propose, predict, measure, record.

tune, tuned_build            what users call: tune, and build with the best schedules of a log
tasks                        what there is to tune in a model
run, rounds, session         one run: which task is next (scheduler), what to measure
program_space, plan_space    the schedules of a task as genomes
ranking, pretrained          which of them look promising
candidates, runner           from a schedule to a measured time
plausible_runner             times that no machine can reach are not believed
recorder, log_keeper, marks  what the log is told and asked; finished_tasks, kept_schedules,
                             running_marks
confirm, network_confirmation  the winners once more, alone and in their network (network_check,
                             variants: model_variants)
budget, options, events      what a run may spend, what can be chosen, what it tells
fit, logged_programs         the coefficients of estimates from a log, without models
schedule_lookup              the best schedules of a log, for builds
"""

from relay_tune.own_packages import check_own_packages

check_own_packages()
