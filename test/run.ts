/**
 * Runs every test file with node:test. `--soak` sets the long sizes of the long proofs; other arguments
 * pick files whose path contains one of them.
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
  .sort()

// Once, before many services start at the same time and would each build the page.
await builtSite(createLogger({ level: 'silent' }))

/**
 * Proofs against a wall clock that runs fast, or of when something ends, need the machine to themselves. The others
 * share it: most of their time they wait, so there is one more than there are cores.
 */
const ALONE =
  /^(src\/ingest\/(exchange\/(determinism|kill|faults)|(prediction|oracle)\/faults[a-z-]*)|test\/e2e\/(market-coverage|first-start)|test\/dashboard\/browser)\.test\.ts$/

const phases = [
  { files: files.filter((file) => !ALONE.test(file)), concurrency: availableParallelism() + 1 },
  { files: files.filter((file) => ALONE.test(file)), concurrency: 1 },
]
const failed = new Set<string>()
for (const phase of phases) await runPhase(phase)

// Many proofs run against the wall clock. What failed while the machine was shared is tried once more, alone;
// what fails twice has failed. Both runs are printed. Proofs of exactness have one try: a failure in one of many
// runs is just what they look for.
const EXACT =
  /metering|paging|credits|market-sealed|conformance|store\/sqlite|accounts\/|test\/contract\/|gate\//
if (failed.size > 0 && ![...failed].some((file) => EXACT.test(file))) {
  const again = [...failed].sort()
  process.stdout.write(`\nOnce more, alone:\n${again.map((file) => `  ${file}\n`).join('')}\n`)
  failed.clear()
  await runPhase({ files: again, concurrency: 1 })
}
if (failed.size > 0) process.exitCode = 1

async function runPhase(phase: { files: string[]; concurrency: number }): Promise<void> {
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
  // the file decides and not where the test stands.
  stream.on('test:summary', ({ file, success }) => {
    if (success) return
    if (file !== undefined) failed.add(relative(process.cwd(), file))
    else if (failed.size === 0) process.exitCode = 1
  })
  for await (const text of stream.compose(new spec())) process.stdout.write(text)
}
