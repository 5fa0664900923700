/**
 * Prints every figure with its bound; exits 1 when one does not hold. Arguments pick figures by file name;
 * `--full` takes the full sizes.
 */
import { globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Figure, holds, type Size } from './frame.ts'

const args = process.argv.slice(2)
const size: Size = args.includes('--full') ? 'full' : 'usual'
const wanted = args.filter((arg) => !arg.startsWith('--'))
const files = globSync('figures/*.ts', { cwd: import.meta.dirname })
  .filter((file) => wanted.length === 0 || wanted.some((part) => basename(file).includes(part)))
  .sort()

let failed = 0
for (const file of files) {
  const module = (await import(join(import.meta.dirname, file))) as Record<
    string,
    (size: Size) => Promise<Figure[]>
  >
  for (const measure of Object.values(module)) {
    for (const figure of await measure(size)) {
      const ok = holds(figure)
      if (!ok) failed++
      const bound =
        figure.atLeast !== undefined
          ? `≥ ${figure.atLeast}`
          : figure.atMost !== undefined
            ? `≤ ${figure.atMost}`
            : ''
      process.stdout.write(
        `${ok ? 'ok  ' : 'FAIL'} ${figure.name.padEnd(60)} ${figure.value.toFixed(2).padStart(8)} ${bound.padEnd(8)} ${figure.detail}\n`,
      )
    }
  }
}
process.exitCode = failed > 0 ? 1 : 0
