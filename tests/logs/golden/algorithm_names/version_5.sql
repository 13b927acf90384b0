-- A log as schema version 5 wrote it, with names of algorithms and a damaged row. Never edit: it stands for files that users have.
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
INSERT INTO "claims" VALUES(1,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"rows4","nests":[{"lanes":8}]}',1,1700000000.0,1700000600.0,'host','boot','',1,'0',1);
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
INSERT INTO "records" VALUES(1,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"nests":[{"lanes":8}]}','ok',1700000000.25,'host',0.001,NULL,'','',1,'1875f74a129e11f9638b36377f2a96dc2f091ec375fe09cbde33969085b80c32');
INSERT INTO "records" VALUES(2,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"rows8","nests":[{"lanes":8}]}','ok',1700000001.25,'host',0.002,NULL,'','',1,'7e130ba68e10c97b0b0fa7ea9ab134c517977d52e3fb2c2bdfa2da504e29f29a');
INSERT INTO "records" VALUES(3,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"split4","nests":[{"lanes":8}]}','ok',1700000002.25,'host',0.003,NULL,'','',1,'1f4c2ec07dffbe286b81da47210a83c55accb778088d0177c1885debfef7c8db');
INSERT INTO "records" VALUES(4,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"strassen","nests":[{"lanes":8}]}','ok',1700000003.25,'host',0.004,NULL,'','',1,'ecfb5c8fe3c3af432cddf6c2a4921396873a60bb93f2ff6f1720bc551a867955');
INSERT INTO "records" VALUES(5,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"winograd2","nests":[{"lanes":8}]}','ok',1700000004.25,'host',0.005,NULL,'','',1,'1c6cbb750ebf3e3a5c417e06cfa0800a7d503e123d7ff488272684cea6cd34f4');
INSERT INTO "records" VALUES(6,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"winograd4","nests":[{"lanes":8}]}','ok',1700000005.25,'host',0.006,NULL,'','',1,'826ac71c0b5139b0f3e3964a43fd66b965baae1a22b47b641408b0795e2a6869');
INSERT INTO "records" VALUES(7,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"winograd2_tiles6","nests":[{"lanes":8}]}','ok',1700000006.25,'host',0.007,NULL,'','',1,'675ef6c05a117af7046aeedfafa52c5df9bed24d5765274a04c3a790114aba10');
INSERT INTO "records" VALUES(8,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"winograd4_tiles28","nests":[{"lanes":8}]}','ok',1700000007.25,'host',0.008,NULL,'','',1,'773a2048576ab9ca98563e7c92ccaebbbcf83f9b239325833169f5396c0ea6e9');
INSERT INTO "records" VALUES(9,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"bf16x3","nests":[{"lanes":8}]}','ok',1700000008.25,'host',9.00000000000000105471e-03,NULL,'','',1,'e615233f1504ca84faaeb47440dd612a3ca3ca7ec8f2c869ed53e7149b819a43');
INSERT INTO "records" VALUES(10,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"bf16x6","nests":[{"lanes":8}]}','ok',1700000009.25,'host',0.01,NULL,'','',1,'6b1d6b0d4e482c9c249070bea1587e0f375cd02ab097ccdd4838e4449fa19a81');
INSERT INTO "records" VALUES(11,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"bf16x3_gathered","nests":[{"lanes":8}]}','ok',1700000010.25,'host',0.011,NULL,'','',1,'429749eaff35d9380ed07381fede2d11d7035741d531f772bbafee2895aa1540');
INSERT INTO "records" VALUES(12,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"bf16x6_gathered","nests":[{"lanes":8}]}','ok',1700000011.25,'host',0.012,NULL,'','',1,'827a1d3301a49582cd324d75d32e9e93a40ace7699222aadfd2bb183089cbdd1');
INSERT INTO "records" VALUES(13,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"mine","nests":[{"lanes":8}]}','ok',1700000012.25,'host',1.30000000000000011379e-02,NULL,'','',1,'a4bbe3b782ce9bfbc59dc7b6d35402a92e26c2aae5cbec979829e61e90693074');
INSERT INTO "records" VALUES(101,'matmul-64','x86_64-linux-gnu:haswell',2,'1','{"algorithm":"rows2","nests":[]}','ok',1700000000.25,'host',0.001,NULL,'','',1,'1875f74a129e11f9638b36377f2a96dc2f091ec375fe09cbde33969085b80c32');
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
CREATE TABLE "tasks" (
   "workload" TEXT PRIMARY KEY NOT NULL,
   "description" TEXT NOT NULL,
   "digest" TEXT NOT NULL
);
INSERT INTO "tasks" VALUES('matmul-64','{"algorithms":[{"bytes":4,"names":["direct","rows8"],"operations":{"float32":10}},{"bytes":4,"names":["winograd4_tiles28"],"operations":{"float32":5}}],"finished":[["x86_64-linux-gnu:haswell",2,"1",64.0,"{\"algorithm\":\"winograd4\",\"nests\":[{\"lanes\":8}]}","fast",13],["x86_64-linux-gnu:haswell",2,"1",64.0,"","exact",13],["old"]],"kept":[{"code_version":"1","schedule":"{\"algorithm\":\"winograd2_tiles6\",\"nests\":[{\"lanes\":8}]}","seconds":0.5,"target":"x86_64-linux-gnu:haswell","threads":2,"time":1700000000.0}],"title":"dense"}','7167963864282d05eb507ed6ae74ff21a896e9967683a55581303e70d4447d6d');
INSERT INTO "tasks" VALUES('odd','{"algorithms":[{"names":"direct"},3],"finished":{},"kept":[3,{}]}','2d5772c4cf348068465120e6f3442ef14fa4541cc94dba8edeb9983254b74e79');
CREATE UNIQUE INDEX "idx_records_workload_target_threads_code_version_schedule"
    ON "records" ("workload", "target", "threads", "code_version", "schedule");
CREATE UNIQUE INDEX "idx_claims_workload_target_threads_code_version_schedule"
    ON "claims" ("workload", "target", "threads", "code_version", "schedule");
COMMIT;
