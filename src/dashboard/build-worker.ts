/** The thread that builds the page once and ends. */
import { workerData } from 'node:worker_threads'
import { build, type HtmlTagDescriptor, type Plugin } from 'vite'
import { START_CALL } from './web/explorer/paths.ts'

const { root, outDir } = workerData as { root: string; outDir: string }

/** The head asks for what the code will want, before the code is there: the first answer and the chart. */
const earlyTags: Plugin = {
  name: 'early-tags',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle }) => {
      const chart = Object.keys(bundle ?? {}).find((name) => /^assets\/explorer-.*\.js$/.test(name))
      if (chart === undefined) throw new Error('the explorer is no file of its own any more')
      const link = (attrs: Record<string, string | boolean>): HtmlTagDescriptor => ({
        tag: 'link',
        attrs: { ...attrs, crossorigin: true },
        injectTo: 'head-prepend',
      })
      return [
        link({ rel: 'preload', as: 'fetch', href: `/dashboard/api/${START_CALL}` }),
        link({ rel: 'modulepreload', href: `/${chart}` }),
      ]
    },
  },
}

await build({
  root,
  configFile: false,
  envDir: false,
  logLevel: 'error',
  mode: 'production',
  plugins: [earlyTags],
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
