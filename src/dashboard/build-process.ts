/** Builds the page once: `node build-process.ts ROOT OUT`. */
import { join } from 'node:path'
import { build, type HtmlTagDescriptor, type Plugin } from 'vite'
import { START_CALL } from './web/explorer/paths.ts'

const [, , root = '', outDir = ''] = process.argv

/** Adds tags that preload what the code will need first: the first answer and the chart. */
const earlyTags: Plugin = {
  name: 'early-tags',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle, filename }) => {
      if (!filename.endsWith('/index.html')) return []
      const chart = Object.keys(bundle ?? {}).find((name) => /^assets\/explorer-.*\.js$/.test(name))
      if (chart === undefined) throw new Error('the explorer is no longer a file of its own')
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
    rolldownOptions: { input: [join(root, 'index.html'), join(root, 'docs.html')] },
  },
})
