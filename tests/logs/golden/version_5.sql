-- A log as schema version 5 wrote it. Never edit: it stands for files that users have.
PRAGMA application_id = 1381256263;
PRAGMA user_version = 5;
BEGIN TRANSACTION;
CREATE TABLE "claims" (
   "id" INTEGER PRIMARY KEY NOT NULL,
   "workload" TEXT NOT NULL,
   "target" TEXT NOT NULL,
   "threads" INTEGER NOT NULL,
   "code_version" TEXT NOT NULL,
   "schedule" TEXT NOT NULL,
   "attempts" INTEGER NOT NULL,
   "claimed" REAL NOT NULL,
   "lease_until" REAL NOT NULL,
   "host" TEXT NOT NULL,
   "boot" TEXT NOT NULL,
   "namespace" TEXT NOT NULL,
   "pid" INTEGER NOT NULL,
   "started" TEXT NOT NULL
, "running" INTEGER NOT NULL DEFAULT 1);
CREATE TABLE "limits" (
   "target" TEXT NOT NULL,
   "name" TEXT NOT NULL,
   "value" REAL NOT NULL,
   "digest" TEXT NOT NULL,
   PRIMARY KEY ("target", "name")
);
CREATE TABLE "migrations" (
   "version" INTEGER PRIMARY KEY NOT NULL,
   "name" TEXT NOT NULL,
   "applied" REAL NOT NULL
);
INSERT INTO "migrations" VALUES(1,'create_records',1700000000.0);
INSERT INTO "migrations" VALUES(2,'create_claims',1700000000.0);
INSERT INTO "migrations" VALUES(3,'create_tasks_limits_runs',1700000000.0);
INSERT INTO "migrations" VALUES(4,'tell_running_claims',1700000000.0);
INSERT INTO "migrations" VALUES(5,'tell_results_of_runs',1700000000.0);
CREATE TABLE "records" (
   "id" INTEGER PRIMARY KEY NOT NULL,
   "workload" TEXT NOT NULL,
   "target" TEXT NOT NULL,
   "threads" INTEGER NOT NULL,
   "code_version" TEXT NOT NULL,
   "schedule" TEXT NOT NULL,
   "status" TEXT NOT NULL,
   "created" REAL NOT NULL,
   "source" TEXT NOT NULL,
   "seconds" REAL,
   "spread" REAL,
   "message" TEXT NOT NULL,
   "features" TEXT NOT NULL,
   "measurements" INTEGER NOT NULL,
   "digest" TEXT NOT NULL
);
INSERT INTO "records" VALUES(1,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"tile":1}','ok',1700000001.25,'host',0.002,NULL,'','',1,'f412d18fb9a92f99b25d577a09a2f3193f69c3e312540d59e71e54e27169e9e5');
INSERT INTO "records" VALUES(2,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"tile":2}','crash',1700000002.25,'host',NULL,NULL,'','',1,'e027f23c6905d8e8ab623d700ba37cc01e2fbbdc076fec17f8aac1989a24f9e8');
CREATE TABLE "runs" (
   "id" INTEGER PRIMARY KEY NOT NULL,
   "arguments" TEXT NOT NULL,
   "state" TEXT NOT NULL,
   "began" REAL NOT NULL,
   "ended" REAL,
   "host" TEXT NOT NULL,
   "boot" TEXT NOT NULL,
   "namespace" TEXT NOT NULL,
   "pid" INTEGER NOT NULL,
   "started" TEXT NOT NULL
, "results" TEXT NOT NULL DEFAULT '{}');
INSERT INTO "runs" VALUES(1,'{"trials":3}','finished',1700000000.0,1700000000.0,'host','boot','namespace',7,'started','{"networks":1}');
CREATE TABLE "tasks" (
   "workload" TEXT PRIMARY KEY NOT NULL,
   "description" TEXT NOT NULL,
   "digest" TEXT NOT NULL
);
CREATE UNIQUE INDEX "idx_records_workload_target_threads_code_version_schedule"
    ON "records" ("workload", "target", "threads", "code_version", "schedule");
CREATE UNIQUE INDEX "idx_claims_workload_target_threads_code_version_schedule"
    ON "claims" ("workload", "target", "threads", "code_version", "schedule");
COMMIT;
