import { createHash, randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Logger } from '../kit/log.ts'

/**
 * Builds the page when it is missing or stale, into a folder named after the content of its sources. The
 * folder appears whole or not at all, so that several processes may start at the same time. The builder runs
 * in a thread of its own: the service is ready meanwhile, and the builder's memory goes with the thread.
 */
const PROJECT = join(import.meta.dirname, '..', '..')
const WEB = join(import.meta.dirname, 'web')
const OUT = join(PROJECT, 'build', 'dashboard')
/** The server's vocabulary, of which the page takes what it needs. */
const CORE = join(PROJECT, 'src', 'core')

export async function builtSite(log: Logger): Promise<string> {
  const target = join(OUT, contentHash())
  if (existsSync(join(target, 'index.html'))) {
    // In use again: nobody prunes it while it is read.
    utimesSync(target, new Date(), new Date())
    return target
  }
  const startedMs = performance.now()
  mkdirSync(OUT, { recursive: true })
  const draft = join(OUT, `.draft-${process.pid}-${randomBytes(4).toString('hex')}`)
  try {
    await build(draft)
    try {
      renameSync(draft, target)
    } catch (error) {
      // Another process was faster with the same content.
      if (!existsSync(join(target, 'index.html'))) throw error
    }
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  pruneBuilds(OUT, target, Date.now())
  log.info({ ms: Math.round(performance.now() - startedMs) }, 'the dashboard was built')
  return target
}

/** Longer than a process needs to read a page that it has just found or built. */
const IN_USE_MS = 600_000

/** Removes what earlier versions, and builds that were cut off, have left. */
export function pruneBuilds(folder: string, keep: string, nowMs: number): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const age = nowMs - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs)
    if (path !== keep && age > IN_USE_MS) rmSync(path, { recursive: true, force: true })
  }
}

function build(outDir: string): Promise<void> {
  const worker = new Worker(BUILDER, {
    workerData: { root: WEB, outDir },
  })
  return new Promise((resolve, reject) => {
    worker.once('error', reject)
    worker.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`the builder ended with ${code}`)),
    )
  })
}

/** Of everything that the page is made of: its sources and the versions of what it uses. */
function contentHash(): string {
  const hash = createHash('sha256')
  const files = [WEB, CORE].flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  for (const file of [...files.sort(), import.meta.filename, BUILDER]) {
    hash.update(`${relative(PROJECT, file)}\0`).update(readFileSync(file))
  }
  for (const name of ['vite', 'preact', 'lightweight-charts']) {
    hash.update(readFileSync(join(PROJECT, 'node_modules', name, 'package.json')))
  }
  return hash.digest('hex').slice(0, 20)
}

const BUILDER = join(import.meta.dirname, 'build-worker.ts')
