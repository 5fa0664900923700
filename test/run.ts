/**
 * Runs every test file with node:test. `--soak` sets the long sizes of the long proofs; other arguments
 * pick files whose path contains one of them.
 */
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
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

const stream = run({
  files,
  concurrency: availableParallelism(),
  timeout: soak ? 3_600_000 : 120_000,
  env: { ...process.env, ...(soak ? { TAPELINE_SOAK: 'on' } : {}) },
})
stream.on('test:fail', () => {
  process.exitCode = 1
})
stream.compose(new spec()).pipe(process.stdout)
