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
const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'])
  .filter((file) => !file.endsWith('.live.test.ts'))
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .sort()

// Once, before many services start at the same time and would each build the page.
await builtSite(createLogger({ level: 'silent' }))

/** Proofs against an accelerated clock need the machine to themselves; the others share it. */
const ALONE =
  /^(src\/ingest\/(determinism|kill|faults|predictions|predictions-faults)|test\/e2e\/market-coverage)\.test\.ts$/

const phases = [
  { files: files.filter((file) => !ALONE.test(file)), concurrency: availableParallelism() },
  { files: files.filter((file) => ALONE.test(file)), concurrency: 1 },
]
const failed = new Set<string>()
for (const phase of phases) await runPhase(phase)

// Many proofs run against the wall clock. What failed while the machine was shared is tried once more, alone;
// what fails twice has failed. Both runs are printed.
if (failed.size > 0) {
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
    env: { ...process.env, ...(soak ? { TAPELINE_SOAK: 'on' } : {}) },
  })
  stream.on('test:fail', ({ file }) => {
    if (file === undefined) process.exitCode = 1
    else failed.add(relative(process.cwd(), file))
  })
  for await (const text of stream.compose(new spec())) process.stdout.write(text)
}
