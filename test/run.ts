/**
 * Runs test files with node:test: those of the service, with `--more` also those of everything around it (`MORE`), with
 * `--soak` all of them in their long sizes. `--check` also runs types, lint and unused exports; other arguments select
 * the files whose path contains one of them. A failed file is never run again.
 *
 * Files of one kind share a process (`batch.ts`), because most of the cost of a file is loading and compiling what it
 * tests. Files that only compute run at a lower priority and use the processor time that others, which wait for half
 * of their time, leave over; the sandbox has priority over both.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { builtSite } from '../src/dashboard/build-site.ts'
import { createLogger } from '../src/kit/log.ts'
import { bundledPackages } from './bundled-packages.ts'
import { bundledService } from './bundled-service.ts'
import { clusterOfRun } from './postgres/cluster.ts'
import { processorMs, processorMsOf } from './processor-time.ts'
import { ROOMY } from './roomy.ts'

const args = process.argv.slice(2)
const soak = args.includes('--soak')
const wanted = args.filter((arg) => !arg.startsWith('--'))
const found = globSync(['{src,sandbox,test}/**/*.test.ts'])
  .filter((file) => !file.endsWith('.live.test.ts'))
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .sort()
/** Without a real node these would only be loaded to skip themselves. */
const skipped =
  process.env.TAPELINE_KASPAD === undefined ? found.filter((file) => file.startsWith('test/real-node/')) : []
/** Run only with `npm run soak` or when named, because shorter files prove the same. */
const LONG_ONLY = [
  // Its faults overlap; single faults are in `faults-updown.test.ts` and `src/ingest/oracle/faults.test.ts`.
  'src/ingest/prediction/faults.test.ts',
]
/** Run only with `npm run test:more`, which CI calls too, so that `npm test` stays within five minutes. */
const MORE = [
  // The simulators that the service is tested with.
  'sandbox/',
  // What needs more than npm installs: browsers, database servers, other languages. The conformance suites are not
  // listed, because they run on every engine that is available.
  'src/store/postgres/',
  'test/e2e/shared-credits.',
  'test/e2e/three-processes.',
  'test/store/postgres-v1.',
  'test/clients/python',
  'test/clients/readme',
  'test/clients/scenarios',
  'test/mcp/',
  'test/dashboard/',
  'test/deploy/',
  'test/many-machines/',
  'test/store/postgres-backup',
  // Tools of operators.
  ...['cli', 'customer-cli', 'damaged-files', 'doctor', 'install', 'live-credentials', 'moved-store'].map(
    (name) => `test/e2e/${name}.`,
  ),
  ...['one-service', 'restored-service'].map((name) => `test/e2e/${name}.`),
  'test/store/backup.',
  'test/store/backup-kill.',
  'test/store/copy',
  'test/store/store-commands.',
  // A test that follows a recipe.
  'test/e2e/add-a-venue.',
]
const isOfMore = (file: string) => MORE.some((start) => file.startsWith(start))
const isEverything = soak || wanted.length > 0
const isLeftOut = (file: string) =>
  !isEverything && (LONG_ONLY.includes(file) || isOfMore(file) !== args.includes('--more'))
const files = found.filter((file) => !skipped.includes(file) && !isLeftOut(file))

/** These measure their own process (processor time, memory, turns of the loop) or replace something global. */
const OWN_PROCESS = new RegExp(
  `^(${[
    'src/kit/(json-slices|thread-calls)',
    'src/(parser|venues/live)/throughput',
    'src/store/(conformance/)?retention',
    'src/venues/live/busy-thread',
    'src/webhooks/subscription-book',
    'sandbox/node/(chain|node|rust-client)',
    'test/e2e/(chain-burst|chain-statuses|loop-hold|stream-floods|webhook-list)',
    // Long, and mostly run in processes that they start.
    'test/e2e/(cli|live-credentials|one-service|webhook-kill|whole-service)',
    'test/many-machines/(failover|store-faults)',
    'test/simulation/simulation',
    'src/ingest/(exchange|prediction)/kill',
    'test/real-node/.*',
  ].join('|')})\\.test\\.ts$`,
)
/** Tests of the whole service with all its recorders at the full rate, in this order. */
const SANDBOX = [
  'test/e2e/recording-status.test.ts',
  'test/e2e/sandbox-nodes.test.ts',
  'test/e2e/try-it.test.ts',
  'test/clients/readme.test.ts',
  'test/dashboard/browser.test.ts',
  'test/e2e/alerts.test.ts',
  'test/e2e/recording-audits.test.ts',
]
/** Runs alone, because it proves how soon something is available. */
const ALONE = ['test/dashboard/first-chart.test.ts']
/** These only compute, or run on a clock that waits for them: with less processor time they only take longer. */
const COMPUTE = /^(src\/(ingest|parser|store)|test\/(contract|simulation|store))\//
/** These wait most of the time, so they may run beside the sandbox. */
const QUIET = /^src\/(webhooks|venues|upstreams)\//
/** Files that share a process; all others share one with their folder. */
const BATCHES = [
  // Start processes.
  /^test\/e2e\/(add-a-venue|chain-kill|damaged-files|install|metering|resets|shared-credits|shutdown|three-processes)\./,
  /^test\/e2e\/market-/,
  /^src\/webhooks\//,
  /^src\/ingest\/exchange\//,
  /^src\/ingest\/prediction\//,
  /^src\/ingest\//,
  /^test\/dashboard\/(explorer|user|status-page)/,
  // Share a browser.
  /^test\/(dashboard\/|e2e\/cached-answers|clients\/scenarios)/,
  /^test\/e2e\/(chain|node|rpc|submit)/,
  /^test\/e2e\//,
  /^sandbox\/(exchanges|predictions)\//,
  // Short files of small folders.
  /^src\/(accounts|api|app|cli|config|contract|core|dashboard|events|gate|relay|stream)\//,
  /^test\/(architecture|clients|mcp|redacted-addresses|sandbox|sent-bytes)/,
]
/** These start first, so that the run does not end with one of them running alone. */
const LONG = [
  'test/simulation/simulation',
  'test/store/',
  'test/simulation/',
  'test/many-machines/',
  'src/webhooks/webhooks',
  // Many short files, some of which wait.
  'src/accounts/',
  'src/api/',
  'src/app/',
  'test/e2e/whole-service',
  'test/e2e/live-credentials',
  'test/e2e/cli',
  'test/e2e/webhook-kill',
  'sandbox/exchanges/',
  'src/indexer/',
  'test/e2e/chain-balance',
  'test/e2e/add-a-venue',
  'test/dashboard/',
  'test/clients/scenarios',
  'test/mcp/',
  'test/e2e/one-service',
  'src/ingest/prediction/',
  'src/ingest/',
  'test/e2e/',
  'test/deploy/',
  // Run together with those of the clients.
  'test/architecture',
  'sandbox/',
  'src/venues/',
  'src/store/',
]
const MAX_BATCH = 24
/** For files that take seconds each. */
const MAX_SLOW_BATCH = 10
const SLOW = /^test\/e2e\//
/** Most files wait for about half of their time, so more processes run than there are cores. */
const LANES = 2 * availableParallelism()
const COMPUTE_LANES = availableParallelism()
const COMPUTE_NICE = 5
const SHOWN_SLOWEST = 15
/** Judging an hour of a real network needs more heap than Node allows by default. */
const SOAK_HEAP = '--max-old-space-size=12288'
const MIN_MEMORY_BYTES = 4 * 2 ** 30
/** What node:test reports at the end of each process. */
const TOTALS = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/

// Go's compiler and other Go programs exit before a garbage collection would pay off.
process.env.GOGC ??= 'off'
const failed = new Set<string>()
const folder = dataFolder()
process.env.TMPDIR = folder
/** One line per file: processor seconds and path. */
const costs = join(folder, 'costs')
writeFileSync(costs, '')
const removeData = () => rmSync(folder, { recursive: true, force: true })
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    removeData()
    process.exit(1)
  })
const durations: { file: string; ms: number }[] = []
const counts = { passed: 0, skipped: 0, failed: 0 }
const startedMs = performance.now()
const reporter = new spec()
reporter.pipe(process.stdout)

const checks = args.includes('--check') ? runChecks() : undefined
// Set before the first import of code that reads it.
process.env.TAPELINE_TEST_RUN = randomBytes(4).toString('hex')
const [cluster, packages, service] = await Promise.all([
  // One server for all tests that need PostgreSQL; without it they are reported as skipped.
  clusterOfRun(),
  bundledPackages(),
  bundledService(),
  // Done once, before many services start at the same time and would each build the dashboard.
  builtSite(createLogger({ level: 'silent' })),
])
const bundles = [packages, service]

const isOf = (kind: readonly string[] | RegExp, file: string) =>
  kind instanceof RegExp ? kind.test(file) : kind.includes(file)
const kindOf = (file: string) => [ALONE, SANDBOX, COMPUTE, QUIET].find((kind) => isOf(kind, file))
const batches = (kind?: readonly string[] | RegExp) =>
  batchesOf(files.filter((file) => kindOf(file) === kind))
const sandbox = SANDBOX.filter((file) => files.includes(file))
const [compute, quiet, others] = [batches(COMPUTE), batches(QUIET), batches()]
const sandboxDone = sandbox.length === 0 ? Promise.resolve() : runBatch(sandbox)
await Promise.all([
  checks,
  ...Array.from({ length: COMPUTE_LANES }, () => runBatches(compute, COMPUTE_NICE)),
  ...Array.from({ length: LANES }, async (_, lane) => {
    if (lane === 0) await runBatches(quiet)
    await sandboxDone
    await runBatches(quiet)
    await runBatches(others)
    // The remaining files that only compute no longer compete with others.
    await runBatches(compute, COMPUTE_NICE)
  }),
])
await runBatches(batches(ALONE))

if (cluster === undefined && process.env.TAPELINE_TEST_POSTGRES)
  await (await import('./postgres/test-postgres.ts')).dropSchemasOfRun()
const postgresMs = cluster === undefined ? 0 : processorMsOf(cluster.pid)
await cluster?.stop()

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`.padStart(8)
const success = failed.size === 0
// From here on the reporter repeats each failure.
reporter.write({ type: 'test:summary', data: { success } })
await new Promise<void>((resolve) => reporter.end(resolve))
process.stdout.write(
  `\nTests: ${counts.passed} passed, ${counts.skipped} skipped, ${counts.failed} failed.\n` +
    (skipped.length === 0 ? '' : `Skipped, since TAPELINE_KASPAD names no kaspad: ${skipped.join(', ')}\n`) +
    leftOut() +
    `Slowest of ${durations.length} files, ${seconds(performance.now() - startedMs).trim()} in all:\n`,
)
durations.sort((a, b) => b.ms - a.ms)
for (const { file, ms } of durations.slice(0, SHOWN_SLOWEST))
  process.stdout.write(`${seconds(ms)}  ${file}\n`)
const used = readFileSync(costs, 'utf8')
  .split('\n')
  .slice(0, -1)
  .map((line) => JSON.parse(line) as { file: string; ms: number })
  .sort((a, b) => b.ms - a.ms)
const usedMs = used.reduce((sum, { ms }) => sum + ms, 0)
process.stdout.write(
  `\nProcessor time, ${seconds(processorMs()).trim()} in all, of it PostgreSQL ${seconds(postgresMs).trim()} and ` +
    `test files ${seconds(usedMs).trim()}:\n`,
)
for (const { file, ms } of used.slice(0, SHOWN_SLOWEST)) process.stdout.write(`${seconds(ms)}  ${file}\n`)
removeData()
if (!success) {
  process.stdout.write(`\nFailed:\n${[...failed].map((file) => `  ${file}\n`).join('')}`)
  process.exitCode = 1
}

function leftOut(): string {
  if (isEverything) return ''
  const others = args.includes('--more')
    ? 'npm test: the service itself'
    : `npm run test:more: ${MORE.join(', ')}`
  return `Left to ${others}. Only with npm run soak: ${LONG_ONLY.join(', ')}\n`
}

function batchesOf(all: readonly string[]): string[][] {
  const rank = (file: string) => {
    const place = LONG.findIndex((start) => file.startsWith(start))
    return place === -1 ? LONG.length : place
  }
  const own = all.filter((file) => OWN_PROCESS.test(file)).map((file) => [file])
  const shared = Map.groupBy(
    all.filter((file) => !OWN_PROCESS.test(file)),
    (file) => BATCHES.find((kind) => kind.test(file)) ?? file.split('/').slice(0, 2).join('/'),
  )
  const parts = [...shared.values()].flatMap((batch) => {
    const most = SLOW.test(batch[0] ?? '') ? MAX_SLOW_BATCH : MAX_BATCH
    const size = Math.ceil(batch.length / Math.ceil(batch.length / most))
    return Array.from({ length: Math.ceil(batch.length / size) }, (_, n) =>
      batch.slice(n * size, (n + 1) * size),
    )
  })
  return [...own, ...parts].sort((a, b) => rank(a[0] ?? '') - rank(b[0] ?? ''))
}

/** Runs batches until none is left; others may take from the same list. */
async function runBatches(waiting: string[][], nice = 0): Promise<void> {
  for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) await runBatch(batch, nice)
}

/** Their output is written when they have ended. */
function runChecks(): Promise<void> {
  const command = ['-n', String(COMPUTE_NICE), process.execPath, join(import.meta.dirname, 'check.ts')]
  return new Promise((resolve) => {
    execFile('nice', command, { maxBuffer: 2 ** 28 }, (error, stdout, stderr) => {
      process.stdout.write(stdout + stderr)
      if (error !== null) failed.add('npm run check')
      resolve()
    })
  })
}

/**
 * Where tests keep their data: in memory if there is enough, so that they do not wait for the disk. What they prove
 * about a disk (full, damaged, a killed process) holds there too; the long sizes use the real disk.
 */
function dataFolder(): string {
  const memory = '/dev/shm'
  const hasRoom = () => {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize >= MIN_MEMORY_BYTES
  }
  const isInMemory = !soak && process.env.TMPDIR === undefined && existsSync(memory) && hasRoom()
  const made = mkdtempSync(join(isInMemory ? memory : tmpdir(), 'tapeline-tests-'))
  // PostgreSQL runs as another user if the tests run as root.
  chmodSync(made, 0o711)
  return made
}

/** The output of a batch is written when it has ended, so that outputs do not mix. */
async function runBatch(batch: readonly string[], nice = 0): Promise<void> {
  const stream = run({
    files: [join(import.meta.dirname, 'batch.ts')],
    argv: [...batch],
    execArgv: [...ROOMY, ...(soak ? [SOAK_HEAP] : [])],
    concurrency: 1,
    // Every service that a test starts as a separate process compiles the same files.
    env: {
      NODE_COMPILE_CACHE: join(import.meta.dirname, '..', 'build', 'compile-cache'),
      ...process.env,
      NODE_OPTIONS: [process.env.NODE_OPTIONS ?? '', ...bundles.map((file) => `--import=${file}`)].join(' '),
      BATCH_NICE: String(nice),
      BATCH_COSTS: costs,
      ...(soak ? { TAPELINE_SOAK: 'on' } : {}),
    },
  })
  const events: { type: string; data: unknown }[] = []
  const unfinished = new Set(batch)
  let isWell = true
  for await (const event of stream) {
    if (event.type === 'test:summary') {
      isWell &&= event.data.success
      continue
    }
    if (event.type === 'test:diagnostic' && TOTALS.test(event.data.message)) continue
    events.push(event)
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    const { name, nesting, details, skip } = event.data
    if (details.type !== 'suite')
      counts[event.type === 'test:fail' ? 'failed' : skip === undefined ? 'passed' : 'skipped'] += 1
    if (nesting > 0) continue
    if (unfinished.delete(name)) durations.push({ file: name, ms: details.duration_ms })
    if (event.type === 'test:fail') failed.add(batch.includes(name) ? name : batch.join(', '))
  }
  for (const file of unfinished) failed.add(`${file} (no result)`)
  if (!isWell && !batch.some((file) => failed.has(file))) failed.add(batch.join(', '))
  for (const event of events) reporter.write(event)
}
