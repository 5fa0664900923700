/** Checks types, lint and unused exports in parallel, and prints their outputs one after the other. */
import { execFile } from 'node:child_process'

const CHECKS = ['types', 'lint', 'unused']
/** The compiler exits before a garbage collection would pay off. */
const env = { GOGC: 'off', ...process.env }

await Promise.all(
  CHECKS.map(
    (name) =>
      new Promise<void>((resolve) => {
        execFile('npm', ['run', '-s', name], { env, maxBuffer: 2 ** 28 }, (error, stdout, stderr) => {
          process.stdout.write(stdout + stderr)
          if (error !== null) {
            process.stdout.write(`npm run ${name} failed\n`)
            process.exitCode = 1
          }
          resolve()
        })
      }),
  ),
)
