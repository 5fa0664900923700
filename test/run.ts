/**
 * Runs every test file with node:test. `--soak` sets the long sizes of the long tests; other arguments pick files
 * whose path contains one of them. A file that fails has failed: nothing is run twice.
 */
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { relative } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { builtSite } from '../src/dashboard/build-site.ts'
import { createLogger } from '../src/kit/log.ts'

const args = process.argv.slice(2)
const soak = args.includes('--soak')
const wanted = args.filter((arg) => !arg.startsWith('--'))
const files = globSync(['{src,sandbox,test}/**/*.test.ts'])
  .filter((file) => !file.endsWith('.live.test.ts'))
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))

// Once, before many services start at the same time and would each build the page.
await builtSite(createLogger({ level: 'silent' }))

/** Tests against an accelerated clock, or of when something ends: one after the other, with nothing beside them. */
const ALONE =
  /^(src\/ingest\/(exchange\/(determinism|kill|faults)|(prediction|oracle)\/faults[a-z-]*)|test\/e2e\/(market-coverage|first-start)|test\/dashboard\/browser)\.test\.ts$/
/**
 * Files that take longest, longest first; the summary of a run shows when this has changed. They start before the
 * others, so that the run does not end with one of them alone on the machine.
 */
const LONG = [
  'test/e2e/recording-status',
  'src/webhooks/webhooks',
  'test/e2e/live-credentials',
  'test/e2e/cli',
  'test/e2e/market-sealed',
  'test/e2e/one-service',
  'test/e2e/chain-failover',
  'test/e2e/market-params',
  'src/api/endpoints/chain/submit-transaction',
  'test/e2e/add-a-venue',
  'test/e2e/try-it',
  'test/e2e/sandbox-nodes',
  'test/e2e/whole-service',
  'test/dashboard/',
  'src/ingest/',
  'test/e2e/',
  'sandbox/',
  'src/venues/',
  'src/store/',
]
const rank = (file: string) => {
  const place = LONG.findIndex((start) => file.startsWith(start))
  return place === -1 ? LONG.length : place
}
const ordered = files.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))

/** Most files wait for about half of their time, so twice as many run as there are cores. */
const AT_ONCE = 2 * availableParallelism()
const SHOWN_SLOWEST = 10

const failed = new Set<string>()
const durations: { file: string; ms: number }[] = []
const startedMs = performance.now()
await runFiles({ files: ordered.filter((file) => !ALONE.test(file)), concurrency: AT_ONCE })
await runFiles({ files: ordered.filter((file) => ALONE.test(file)), concurrency: 1 })

durations.sort((a, b) => b.ms - a.ms)
const slowest = durations.slice(0, SHOWN_SLOWEST)
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`.padStart(8)
process.stdout.write(
  `\nSlowest of ${durations.length} files, ${seconds(performance.now() - startedMs).trim()} in all:\n`,
)
for (const { file, ms } of slowest) process.stdout.write(`${seconds(ms)}  ${file}\n`)
if (failed.size > 0) {
  process.stdout.write(`\nFailed:\n${[...failed].map((file) => `  ${file}\n`).join('')}`)
  process.exitCode = 1
}

async function runFiles(phase: { files: string[]; concurrency: number }): Promise<void> {
  if (phase.files.length === 0) return
  const stream = run({
    ...phase,
    timeout: soak ? 3_600_000 : 120_000,
    // Every test file and every service in it is a process of its own; they share what they compile.
    env: {
      NODE_COMPILE_CACHE: 'build/compile-cache',
      ...process.env,
      ...(soak ? { TAPELINE_SOAK: 'on' } : {}),
    },
  })
  // A test may be declared in another file than the one that runs it (a conformance suite), so the summary of
  // the file decides and not where the test is declared.
  stream.on('test:summary', ({ file, success, duration_ms: ms }) => {
    const name = file === undefined ? undefined : relative(process.cwd(), file)
    if (name !== undefined) durations.push({ file: name, ms })
    if (success) return
    if (name !== undefined) failed.add(name)
    else process.exitCode = 1
  })
  for await (const text of stream.compose(new spec())) process.stdout.write(text)
}
