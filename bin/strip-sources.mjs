/**
 * Node strips the types of a TypeScript file each time a thread loads it, and keeps the stripper in memory (11 MB a
 * thread). Its compile cache spares that, but keeps what it has read in memory too, in every thread again (15 MB in
 * the main thread alone). Before the first start after an installation or an update the types of all files are
 * therefore stripped once, in a process of its own that ends afterwards; `load-stripped.mjs` loads the results, in
 * which every line and column is where it was.
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
  for (const file of sourceFiles()) {
    const target = join(folder, file)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, module.stripTypeScriptTypes(readFileSync(join(ROOT, file), 'utf8')))
  }
  await bundle(join(folder, 'packages'))
}

/** Without it the package is imported as it is installed. */
async function bundle(outDir) {
  try {
    const { build } = await import('vite')
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
