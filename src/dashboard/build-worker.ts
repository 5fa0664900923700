/** The thread that builds the page once and ends. */
import { workerData } from 'node:worker_threads'
import { build } from 'vite'

const { root, outDir } = workerData as { root: string; outDir: string }

await build({
  root,
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
