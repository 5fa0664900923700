/**
 * Node strips the types of a TypeScript file each time a thread loads it, and keeps the stripper in memory (11 MB a
 * thread). Its compile cache spares that, but keeps what it has read in memory too, in every thread again (15 MB in
 * the main thread alone). Before the first start after an installation or an update the types of all files are
 * therefore stripped once, in a process of its own that ends afterwards; `load-stripped.mjs` loads the results, in
 * which every line and column is where it was. Every thread keeps the text of what it has loaded, so that comments and
 * the blanks that types leave are stripped, too: a third of it.
 *
 * A package of hundreds of small modules takes room and time for each of them, in every thread that imports it: 4 MB
 * of heap for typebox, of which 0.7 MB are left where it is one module. It is bundled on the same occasion.
 */
import { spawnSync } from 'node:child_process'
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import * as module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const OWN = 'bin/strip-sources.mjs'
/** What is imported of the bundled package, and the names of the results. */
const BUNDLED = { typebox: 'typebox', 'typebox-compile': 'typebox/compile', 'typebox-value': 'typebox/value' }

/** The folder of the files without types; undefined where it cannot be written: the service then strips as it starts. */
export function strippedSources() {
  const files = sourceFiles()
  const newest = Math.max(...[...files, OWN].map((file) => statSync(join(ROOT, file)).mtimeMs))
  const mark = `${process.version}-${bundledVersion()}-${files.length}-${Math.round(newest)}`
  const all = join(ROOT, 'build', 'stripped')
  try {
    mkdirSync(all, { recursive: true })
    const found = readdirSync(all)
    if (!found.includes(mark)) {
      for (const name of found) rmSync(join(all, name), { recursive: true, force: true })
      // Complete or not there at all, also when two services start at a time.
      const unfinished = mkdtempSync(join(all, `${mark}-`))
      if (!stripInProcess(unfinished)) return undefined
      renameSync(unfinished, join(all, mark))
    }
  } catch (error) {
    if (error.syscall === undefined) throw error
    return undefined
  }
  return join(all, mark)
}

function sourceFiles() {
  return globSync('{src,sandbox}/**/*.ts', {
    cwd: ROOT,
    exclude: ['**/*.test.ts', 'src/dashboard/web/**'],
  })
}

/** Empty where it is installed elsewhere. */
function bundledVersion() {
  try {
    return JSON.parse(readFileSync(join(ROOT, 'node_modules', 'typebox', 'package.json'), 'utf8')).version
  } catch {
    return ''
  }
}

function stripInProcess(folder) {
  const source = `import { strip } from ${JSON.stringify(import.meta.url)}\nawait strip(${JSON.stringify(folder)})`
  const { status } = spawnSync(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: 'ignore',
  })
  return status === 0
}

/** In the process that is started for it. */
export async function strip(folder) {
  // Without it comments stay, and the package is imported as it is installed.
  const vite = await import('vite').catch(() => undefined)
  for (const file of sourceFiles()) {
    const target = join(folder, file)
    const source = readFileSync(join(ROOT, file), 'utf8')
    mkdirSync(dirname(target), { recursive: true })
    const code = withoutBlanks(module.stripTypeScriptTypes(source), source)
    writeFileSync(target, withoutComments(code, vite?.parseSync?.(file.replace(/ts$/, 'js'), code)))
  }
  if (vite !== undefined) await bundle(vite, join(folder, 'packages'))
}

/** Lines end where their code ends. Those of texts stay as they are: they hold no types. */
function withoutBlanks(code, source) {
  const lines = source.split('\n')
  return code
    .split('\n')
    .map((line, i) => (line.trimEnd().length < lines[i].trimEnd().length ? line.trimEnd() : line))
    .join('\n')
}

/** What follows a comment in its line keeps its column. */
function withoutComments(code, { comments = [], errors = [] } = {}) {
  if (errors.length > 0) return code
  let text = ''
  let at = 0
  for (const { start, end } of comments) {
    const [rest] = code.slice(end).split('\n', 1)
    const lines = code.slice(start, end).split('\n')
    const before = code.slice(at, start)
    const isLast = rest.trim() === ''
    text += isLast ? before.replace(/[ \t]+$/, '') : before
    text += '\n'.repeat(lines.length - 1) + (isLast ? '' : ' '.repeat(lines.at(-1).length))
    at = end
  }
  return text + code.slice(at)
}

async function bundle({ build }, outDir) {
  try {
    await build({
      root: ROOT,
      configFile: false,
      publicDir: false,
      logLevel: 'silent',
      ssr: { noExternal: true },
      build: {
        ...{ ssr: true, outDir, target: 'esnext', minify: false },
        rollupOptions: {
          input: BUNDLED,
          // Everything that it exports, in the order in which it is evaluated.
          treeshake: false,
          output: { entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' },
        },
      },
    })
  } catch {
    rmSync(outDir, { recursive: true, force: true })
  }
}
