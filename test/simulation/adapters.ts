/**
 * What is outside the simulation: the files that touch real time, randomness, network, files or threads, with the
 * reason why each may. Everything else in src/ and sandbox/ gets them passed in; `ports.test.ts` proves both
 * directions.
 */
export type Reality = 'timer' | 'time' | 'chance' | 'network' | 'file' | 'thread' | 'process'

export interface Adapter {
  readonly uses: readonly Reality[]
  readonly why: string
}

/**
 * The composition root and the programs around it: they choose the adapters, and no simulation loads them, except
 * `src/app/lead.ts`, which the guard of the simulation watches at run time.
 */
export const OUTSIDE: readonly string[] = [
  'src/app/',
  'src/app.ts',
  'src/main.ts',
  'src/config/',
  'src/cli/',
  'src/api/http/',
  'src/api/mcp/',
  'src/api/pages/',
  'src/dashboard/',
]

export const ADAPTERS: Readonly<Record<string, Adapter>> = {
  // Time and chance
  'src/kit/clock.ts': { uses: ['timer', 'time'], why: 'the real clock' },
  'src/kit/turns.ts': { uses: ['time'], why: 'how long work holds the loop; a simulation replaces it' },
  'src/venues/adapter/real-ports.ts': {
    uses: ['time', 'chance'],
    why: 'what a venue uses unless it is given',
  },

  'src/kit/open-file-limit.ts': { uses: ['file'], why: 'what the system lets the process open' },

  // Network
  'src/kit/http-client.ts': { uses: ['network'], why: 'undici, for the real fetch and the real poster' },
  'src/venues/live/dial-web-socket.ts': { uses: ['network'], why: 'the real dial of venues, over ws' },
  'src/kit/share-turns.ts': {
    uses: ['timer'],
    why: 'the turns of real sockets, in which the simulation has none',
  },
  'src/upstreams/dial-node.ts': { uses: ['network'], why: 'the real dial of nodes, over ws' },
  'src/webhooks/resolve-host.ts': { uses: ['network'], why: 'DNS, and the resolver of the machine' },
  'sandbox/server/transport.ts': { uses: ['network', 'process'], why: 'the real listen of the sandbox' },
  'sandbox/server/http.ts': { uses: ['network'], why: 'the real listen of the sandbox' },
  'sandbox/node/chain-link.ts': {
    uses: ['network', 'chance'],
    why: 'a chain that several node processes share',
  },

  // Files. The storage engine has no abstraction for them: simulations use real files in a temporary folder, and faults
  // are injected into the operations of the ports.
  'src/store/sqlite/stores.ts': { uses: ['file'], why: 'the files of the embedded engine' },
  'src/store/postgres/address.ts': { uses: ['file'], why: 'certificates for TLS' },
  'src/store/postgres/connections.ts': { uses: ['time', 'timer'], why: 'connections to PostgreSQL' },
  'src/store/postgres/open-database.ts': {
    uses: ['time'],
    why: 'time is the database’s unless a test moves it',
  },
  'src/store/postgres/books-tables.ts': { uses: ['chance'], why: 'versions and ids of rows in PostgreSQL' },
  'src/store/postgres/chain-write.ts': { uses: ['chance'], why: 'versions and ids of rows in PostgreSQL' },
  'src/store/postgres/commit-gate.ts': { uses: ['time', 'timer'], why: 'waits for a PostgreSQL server' },
  'src/store/postgres/commit-outcome.ts': { uses: ['time', 'timer'], why: 'waits for a PostgreSQL server' },
  'src/store/postgres/connection.ts': {
    uses: ['process', 'chance'],
    why: 'a connection is named after its process, and for its writes',
  },
  'src/store/postgres/find-host.ts': { uses: ['timer'], why: 'waits for a PostgreSQL server' },
  'src/store/postgres/one-moment.ts': { uses: ['time'], why: 'waits for a PostgreSQL server' },
  'src/store/postgres/copy-side.ts': { uses: ['time', 'timer'], why: 'the command that copies a store' },
  'src/store/sqlite/copy-side.ts': { uses: ['file', 'process'], why: 'the command that copies a store' },
  'src/store/sqlite/check-keys.ts': { uses: ['file'], why: 'the command that checks a store' },
  'src/store/sqlite/check.ts': { uses: ['file'], why: 'the command that checks a store' },
  'src/store/sqlite/upgrade.ts': { uses: ['file', 'process'], why: 'the command that upgrades a store' },
  'src/store/postgres/check.ts': {
    uses: ['time'],
    why: 'the clock of the server against that of the machine',
  },
  'src/store/backup/about-folder.ts': { uses: ['file'], why: 'the commands of backups' },
  'src/store/backup/backup-folder.ts': { uses: ['file'], why: 'the commands of backups' },
  'src/store/backup/make-folder.ts': { uses: ['file'], why: 'the commands of backups' },
  'src/store/backup/chunks.ts': { uses: ['file'], why: 'the commands of backups' },
  'src/store/backup/last-backup.ts': {
    uses: ['file'],
    why: 'what the commands of backups leave for the service',
  },
  'src/store/backup/make-backup.ts': { uses: ['file'], why: 'the commands of backups' },
  'src/store/backup/restore-backup.ts': { uses: ['file'], why: 'the commands of backups' },
  'src/store/postgres/backup-tools.ts': { uses: ['file', 'thread'], why: 'the commands of backups' },
  'src/store/postgres/backup.ts': { uses: ['file'], why: 'the commands of backups' },
  'src/store/postgres/restore.ts': { uses: ['file'], why: 'the commands of backups' },
  'src/store/sqlite/backup-source.ts': { uses: ['file', 'timer'], why: 'the commands of backups' },
  'src/store/sqlite/restore-target.ts': { uses: ['file', 'process'], why: 'the commands of backups' },
  'src/store/sqlite/unfinished-restore.ts': {
    uses: ['file'],
    why: 'a folder that was not restored to the end',
  },
  'src/store/sqlite/disk-use.ts': { uses: ['file'], why: 'what the files of the embedded engine take' },
  'src/store/sqlite/disk-use-thread.ts': {
    uses: ['thread'],
    why: 'entry file of the thread that measures them',
  },
  'src/kit/disk-room.ts': { uses: ['file'], why: 'the room on the real disk' },
  'src/store/postgres/listen.ts': { uses: ['timer'], why: 'a connection to PostgreSQL' },
  'src/store/sqlite/open.ts': { uses: ['file'], why: 'the files of the embedded engine' },
  'src/store/sqlite/damaged.ts': { uses: ['file'], why: 'the files of the embedded engine' },
  'src/store/sqlite/emptied.ts': { uses: ['file'], why: 'the files of the embedded engine' },
  'src/store/sqlite/read-database.ts': { uses: ['file'], why: 'the files of the embedded engine' },
  'src/store/sqlite/folder-lock.ts': { uses: ['file', 'process'], why: 'one process per data folder' },
  'src/store/sqlite/watch-files.ts': { uses: ['file'], why: 'files that were replaced under the service' },
  'src/ingest/shared/letter-files.ts': { uses: ['file'], why: 'the real files of dead letters' },
  'src/ingest/audit/sample-file.ts': { uses: ['file'], why: 'the real file of audit samples' },
  'sandbox/node/state-folder.ts': { uses: ['file'], why: 'a simulated node that keeps its state' },

  // Threads
  'src/kit/thread-calls.ts': { uses: ['timer', 'thread'], why: 'calls into worker threads' },
  'src/kit/supervise-thread.ts': { uses: ['chance'], why: 'restarts worker threads' },
  'src/store/sqlite/writer-thread.ts': { uses: ['thread'], why: 'entry file of the writer thread' },
  'src/upstreams/heavy-worker.ts': {
    uses: ['time', 'thread', 'process'],
    why: 'entry file of the thread for heavy calls',
  },
  'src/accounts/password.ts': { uses: ['chance', 'thread'], why: 'hashes passwords on the thread pool' },

  // The process
  'src/kit/log.ts': { uses: ['process'], why: 'lines on stdout; simulations have a logger of their own' },
  'src/kit/metrics.ts': { uses: ['process', 'timer'], why: 'metrics of the process' },
  'src/kit/exit-process.ts': { uses: ['process'], why: 'ends the process' },
  'src/kit/lower-priority.ts': { uses: ['thread', 'process'], why: 'priority of a thread' },
  'src/kit/release-memory.ts': { uses: ['process'], why: 'collects garbage after the start' },
  'sandbox/node/process.ts': { uses: ['thread', 'process'], why: 'simulated nodes as a process or thread' },
  'sandbox/node/run.ts': { uses: ['time', 'process'], why: 'the clock by default; what a node costs' },
  'sandbox/node/rpc/info-methods.ts': {
    uses: ['process'],
    why: 'memory in an answer that is passed through',
  },
  'sandbox/server/announce.ts': { uses: ['thread', 'process'], why: 'entry of a thread or process' },
  'sandbox/markets.ts': { uses: ['thread'], why: 'entry file of the sandbox thread' },
  'sandbox/exchanges/run.ts': { uses: ['time'], why: 'the clock by default' },
  'sandbox/predictions/run.ts': { uses: ['time'], why: 'the clock by default' },
}
