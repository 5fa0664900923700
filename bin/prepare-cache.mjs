/**
 * Node strips the types of a TypeScript file each time a thread loads it, and keeps the stripper in memory (11 MB a
 * thread). Its compile cache spares that, but is filled only as files are loaded. Before the first start after an
 * installation or an update all files are therefore compiled once, in a process of its own that ends afterwards.
 *
 * A folder that cannot be written is no error: the service then strips types as it starts.
 */
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const MARK = 'compiled-'

/** Fills the cache in `folder` where it does not know these files yet, and makes this process and its threads use it. */
export function useCompileCache(folder) {
  const files = globSync('{src,sandbox}/**/*.ts', {
    cwd: ROOT,
    exclude: ['**/*.test.ts', 'src/dashboard/web/**'],
  })
  const newest = Math.max(...files.map((file) => statSync(join(ROOT, file)).mtimeMs))
  const mark = `${MARK}${process.version}-${files.length}-${Math.round(newest)}`
  try {
    mkdirSync(folder, { recursive: true })
    if (!readdirSync(folder).includes(mark)) {
      for (const name of readdirSync(folder)) if (name.startsWith(MARK)) rmSync(join(folder, name))
      compile(files, folder)
      writeFileSync(join(folder, mark), '')
    }
  } catch (error) {
    if (error.syscall === undefined) throw error
    return
  }
  enableCompileCache(folder)
  // Threads and child processes read it from the environment.
  process.env.NODE_COMPILE_CACHE = folder
}

/**
 * Modules are all compiled before the first of them runs. The first one here throws, so that none of the others
 * runs: the entry files of threads and processes would start their work.
 */
function compile(files, folder) {
  const imports = files.map((file) => `import ${JSON.stringify(pathToFileURL(join(ROOT, file)).href)}\n`)
  const source = `import 'data:text/javascript,process.exit(0)'\n${imports.join('')}`
  spawnSync(process.execPath, ['--input-type=module', '--eval', source], {
    env: { ...process.env, NODE_COMPILE_CACHE: folder },
    stdio: 'ignore',
  })
}
