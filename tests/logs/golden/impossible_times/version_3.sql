-- A log as schema version 3 wrote it. Never edit: it stands for files that users have.
PRAGMA application_id = 1381256263;
PRAGMA user_version = 3;
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
);
INSERT INTO "claims" VALUES(1,'conv-64','x86_64-linux-gnu:haswell',2,'1','{"tile":10}',1,1700000000.0,1700000600.0,'host','boot','pid:[1]',4711,'1');
CREATE TABLE "limits" (
   "target" TEXT NOT NULL,
   "name" TEXT NOT NULL,
   "value" REAL NOT NULL,
   "digest" TEXT NOT NULL,
   PRIMARY KEY ("target", "name")
);
INSERT INTO "limits" VALUES('x86_64-linux-gnu:haswell','float32 operations/s, 2 threads',100000000000.0,'0b1e796e418c585102936cf36241a85347ad55bebae9d303a5b49114dce5d1bf');
INSERT INTO "limits" VALUES('x86_64-linux-gnu:haswell','L1 bytes, 2 threads',65536.0,'38eee14817d33eb49d8303962b14962870c0a63f320287a589bf4fd43f9e1d3e');
INSERT INTO "limits" VALUES('x86_64-linux-gnu:haswell','L1 bytes/s, 2 threads',200000000000.0,'9c4448545d5d59fd8ba4893a171aa7c1de2bf16150568b3d937d35008b07c4b6');
INSERT INTO "limits" VALUES('x86_64-linux-gnu:haswell','memory bytes/s, 2 threads',20000000000.0,'0034df36967ba18fbc5ab954a17060f02c551cfc598a65639a6fc857d4be4bb1');
CREATE TABLE "migrations" (
   "version" INTEGER PRIMARY KEY NOT NULL,
   "name" TEXT NOT NULL,
   "applied" REAL NOT NULL
);
INSERT INTO "migrations" VALUES(1,'create_records',1700000000.0);
INSERT INTO "migrations" VALUES(2,'create_claims',1700000000.0);
INSERT INTO "migrations" VALUES(3,'create_tasks_limits_runs',1700000000.0);
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
INSERT INTO "records" VALUES(1,'conv-64','x86_64-linux-gnu:haswell',2,'1','{"tile":0}','ok',1700000000.25,'host',0.003,NULL,'','',1,'6685317fd979bccf231b63d3faa63dd8cbbbccff1c4d878ec797d0b0550f88d5');
INSERT INTO "records" VALUES(2,'conv-64','x86_64-linux-gnu:haswell',2,'1','{"tile":1}','ok',1700000001.25,'host',7.31e-07,NULL,'','',1,'81d7b12ed80775181b06ac1d4ba5c47e8db892f0a81ec1ec2ea1080da78934d3');
INSERT INTO "records" VALUES(3,'conv-64','x86_64-linux-gnu:haswell',2,'1','{"tile":2}','ok',1700000002.25,'host',0.0011,NULL,'','',1,'f2f2f0b1034447748d1734917b469aad4b1b80e4f94c14e7267c3b772d080054');
INSERT INTO "records" VALUES(4,'conv-64','x86_64-linux-gnu:haswell',1,'1','{"tile":3}','ok',1700000003.25,'host',7.31e-07,NULL,'','',1,'29f4fd9d2985a44972cefd27fe45bd002bddc95a7f146336ddc0bce700124816');
INSERT INTO "records" VALUES(5,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"tile":4}','ok',1700000004.25,'host',7.31e-07,NULL,'','',1,'06693e00cc469762b9a86ab246e329507bc18b1362dedef49ba580bebed21d8e');
INSERT INTO "records" VALUES(6,'conv-64','x86_64-linux-gnu:haswell',2,'1','{"tile":9}','crash',1700000009.25,'host',NULL,NULL,'signal','',1,'a32f5f36c208d9a1517058e423a65defa73f9adc2d1948bcd5d6d110c99fed34');
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
);
CREATE TABLE "tasks" (
   "workload" TEXT PRIMARY KEY NOT NULL,
   "description" TEXT NOT NULL,
   "digest" TEXT NOT NULL
);
INSERT INTO "tasks" VALUES('conv-64','{"algorithms":[{"bytes":1000000,"operations":{"float32":231000000}},{"bytes":2000000,"operations":{"float32":100000000}}],"bytes":1000000,"operations":231000000,"title":"conv"}','ab3d0e87f2575f68bc64708f55a0abb88013b205dd32ff3c61e80f8828b8b4cb');
CREATE UNIQUE INDEX "idx_records_workload_target_threads_code_version_schedule"
    ON "records" ("workload", "target", "threads", "code_version", "schedule");
CREATE UNIQUE INDEX "idx_claims_workload_target_threads_code_version_schedule"
    ON "claims" ("workload", "target", "threads", "code_version", "schedule");
COMMIT;
