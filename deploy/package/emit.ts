/**
 * Writes what an installed package runs into `dist/`: Node strips no types under `node_modules`, and a read-only
 * installation can build nothing. `npm pack` calls it (`prepack`). The folder mirrors the project, so that a file finds
 * the others where its source does:
 *
 *   src/ sandbox/   the code, its types replaced by blanks: a stack trace has the lines of the source
 *   clients/        the client that the commands of customers run on
 *   page/           the built dashboard and API reference
 *   licenses/       of what it contains
 *   docs/           the guide, and what it and the doctor refer to
 */
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, normalize, resolve } from 'node:path'
import { builtSite } from '../../src/dashboard/build-site.ts'
import { createLogger } from '../../src/kit/log.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const OUT = resolve(process.argv[2] ?? join(ROOT, 'dist'))
/** Only needed to build and to test. */
const LEFT_OUT = [
  '**/*.test.ts',
  'src/store/conformance/**',
  'src/dashboard/web/**',
  'src/dashboard/build-process.ts',
]
/** Part of what is emitted, so nobody installs them: their terms come with it. */
const CONTAINED = ['lightweight-charts', 'preact']
/** Of a module: imported, or started as a thread or a process by its URL. */
const MODULE_PATH = /(['"])(\.\.?\/[^'"\n]+)\.ts\1/g

function emit(files: readonly string[]): void {
  const known = new Set(files)
  for (const file of files) {
    const stripped = stripTypeScriptTypes(readFileSync(join(ROOT, file), 'utf8'))
    const code = stripped.replaceAll(MODULE_PATH, (_, quote: string, path: string) => {
      const target = normalize(join(dirname(file), `${path}.ts`))
      if (!known.has(target)) throw new Error(`${file} needs ${target}, which is not part of the package`)
      return `${quote}${path}.js${quote}`
    })
    write(file.replace(/\.ts$/, '.js'), code)
  }
}

function write(path: string, text: string): void {
  const target = join(OUT, path)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, text)
}

rmSync(OUT, { recursive: true, force: true })
emit(globSync('{src,sandbox,clients/typescript/src}/**/*.ts', { cwd: ROOT, exclude: LEFT_OUT }))
for (const file of globSync('{src,sandbox}/**/*.{json,css,js}', { cwd: ROOT, exclude: LEFT_OUT }))
  cpSync(join(ROOT, file), join(OUT, file))
cpSync(await builtSite(createLogger({ level: 'silent' })), join(OUT, 'page'), { recursive: true })
for (const name of CONTAINED)
  for (const file of globSync('{LICENSE,NOTICE}*', { cwd: join(ROOT, 'node_modules', name) }))
    cpSync(join(ROOT, 'node_modules', name, file), join(OUT, 'licenses', name, file))
for (const folder of ['guides', 'protocol', 'recipes', 'reference'])
  cpSync(join(ROOT, 'docs', folder), join(OUT, 'docs', folder), { recursive: true })
const { name, version, type } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
write('package.json', JSON.stringify({ name, version, type }))
