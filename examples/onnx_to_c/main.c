/* Runs the classifier on a diagonal line and prints the probability of each class. */
#include <stdio.h>

#include "digits.h"

int main(void) {
    float picture[64] = {0}, probability[10];
    for (int i = 0; i < 8; i++)
        picture[9 * i] = 1.0f;

    const void* inputs[] = {picture};
    void* outputs[] = {probability};
    int status = digits_run(inputs, outputs, 1);
    if (status != DIGITS_SUCCESS) {
        fprintf(stderr, "digits_run failed: %s\n", digits_message(status));
        return 1;
    }
    for (int i = 0; i < 10; i++)
        printf("class %d: %.4f\n", i, probability[i]);
    digits_destroy();
    return 0;
}
