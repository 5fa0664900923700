import { execFile } from 'node:child_process'
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
import { promisify } from 'node:util'
import type { Logger } from '../kit/log.ts'

/**
 * Builds the page if it is missing or stale, into a folder named after the hash of its sources. The folder is moved
 * into place when it is complete, so that several processes may start at the same time. The builder runs in a separate
 * process, so that the service can start meanwhile and the builder's memory (150 MB) is freed with its process.
 */
const PROJECT = join(import.meta.dirname, '..', '..')
const WEB = join(import.meta.dirname, 'web')
const BUILDER = join(import.meta.dirname, 'build-process.ts')
const OUT = join(PROJECT, 'build', 'dashboard')
/** The built page of an installed package. */
const SHIPPED = join(PROJECT, 'page')
/** The page imports parts of it. */
const CORE = join(PROJECT, 'src', 'core')

export async function builtSite(log: Logger): Promise<string> {
  if (existsSync(join(SHIPPED, 'index.html'))) return SHIPPED
  const target = join(OUT, contentHash())
  if (existsSync(join(target, 'index.html'))) {
    // Marks the build as in use, so that another process does not prune it.
    utimesSync(target, new Date(), new Date())
    return target
  }
  const startedMs = performance.now()
  mkdirSync(OUT, { recursive: true })
  const draft = join(OUT, `.draft-${process.pid}-${randomBytes(4).toString('hex')}`)
  try {
    await promisify(execFile)(process.execPath, [BUILDER, WEB, draft])
    try {
      renameSync(draft, target)
    } catch (error) {
      // Another process built the same content first.
      if (!existsSync(join(target, 'index.html'))) throw error
    }
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  pruneBuilds(OUT, target, Date.now())
  log.info({ ms: Math.round(performance.now() - startedMs) }, 'the dashboard was built')
  return target
}

/** Longer than a process takes to read a page that it has found or built. */
const IN_USE_MS = 600_000

/** Removes builds of earlier versions and interrupted builds. */
export function pruneBuilds(folder: string, keep: string, nowMs: number): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const age = nowMs - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs)
    if (path !== keep && age > IN_USE_MS) rmSync(path, { recursive: true, force: true })
  }
}

/** Hash of the page's sources and of the versions of its dependencies. */
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
