import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Logger } from '../kit/log.ts'

/**
 * Builds the page when it is missing or stale, into a folder named after the content of its sources. The
 * folder appears whole or not at all, so that several processes may start at the same time.
 */
const PROJECT = join(import.meta.dirname, '..', '..')
const WEB = join(import.meta.dirname, 'web')
const OUT = join(PROJECT, 'build', 'dashboard')

export async function builtSite(log: Logger): Promise<string> {
  const target = join(OUT, contentHash())
  if (existsSync(join(target, 'index.html'))) return target
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
  log.info({ ms: Math.round(performance.now() - startedMs) }, 'the dashboard was built')
  return target
}

async function build(outDir: string): Promise<void> {
  const vite = await import('vite')
  await vite.build({
    root: WEB,
    configFile: false,
    envDir: false,
    logLevel: 'error',
    mode: 'production',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir,
      emptyOutDir: false,
      target: 'es2022',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
    },
  })
}

/** Of everything that the page is made of: its sources and the versions of what it uses. */
function contentHash(): string {
  const hash = createHash('sha256')
  const files = readdirSync(WEB, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  for (const file of files) hash.update(`${relative(WEB, file)}\0`).update(readFileSync(file))
  for (const name of ['vite', 'preact', 'lightweight-charts']) {
    hash.update(readFileSync(join(PROJECT, 'node_modules', name, 'package.json')))
  }
  return hash
    .update(readFileSync(import.meta.filename))
    .digest('hex')
    .slice(0, 20)
}
