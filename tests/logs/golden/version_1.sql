-- A log as schema version 1 wrote it. Never edit: it stands for files that users have.
PRAGMA application_id = 1381256263;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE "migrations" (
   "version" INTEGER PRIMARY KEY NOT NULL,
   "name" TEXT NOT NULL,
   "applied" REAL NOT NULL
);
INSERT INTO "migrations" VALUES(1,'create_records',1700000000.0);
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
CREATE UNIQUE INDEX "idx_records_workload_target_threads_code_version_schedule"
    ON "records" ("workload", "target", "threads", "code_version", "schedule");
COMMIT;
