/**
 * Code bundled into a few files for the processes that tests start. A bundle is rebuilt whenever its sources have
 * changed.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { PluginOption } from 'vite'

export const ROOT = join(import.meta.dirname, '..')
/** The module that makes a process use a bundle. */
export const USE = 'use.mjs'
/** Older bundles are kept for a while, because a parallel run may still start processes from one. */
const KEPT_MS = 3_600_000

/** The address of the module that makes a process use the bundle, for `--import`; built if none has this hash yet. */
export async function madeOnce(
  name: string,
  hash: string,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const all = join(ROOT, 'build', name)
  const folder = join(all, hash.slice(0, 12))
  if (!existsSync(folder)) {
    mkdirSync(all, { recursive: true })
    for (const old of readdirSync(all))
      if (Date.now() - statSync(join(all, old)).mtimeMs > KEPT_MS)
        rmSync(join(all, old), { recursive: true, force: true })
    // Another run may be doing the same.
    const made = mkdtempSync(join(all, 'made-'))
    await make(made)
    if (!existsSync(folder)) renameSync(made, folder)
  }
  return pathToFileURL(join(folder, USE)).href
}

/** Each input is the name of a file of the bundle and its entry point. */
export async function bundle(
  folder: string,
  options: {
    input: Record<string, string>
    /** Packages that are not bundled but loaded from where they are installed. */
    external: string[]
    plugins?: PluginOption[]
  },
): Promise<void> {
  const { build } = await import('vite')
  await build({
    configFile: false,
    logLevel: 'silent',
    root: ROOT,
    ssr: { noExternal: true },
    plugins: options.plugins ?? [],
    build: {
      ssr: true,
      minify: false,
      target: 'node26',
      outDir: folder,
      emptyOutDir: false,
      rolldownOptions: {
        input: options.input,
        external: options.external,
        output: { entryFileNames: '[name]', chunkFileNames: 'chunk-[name]-[hash].mjs' },
      },
    },
  })
}
