import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative } from 'node:path'
import { DashboardError, type DashboardReply, type EncodedFile } from './route.ts'

/** Nothing inline, nothing from other origins. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** The headers of every answer of the dashboard. */
export const GUARDS: readonly string[] = [
  'Content-Security-Policy',
  CSP,
  'Referrer-Policy',
  'same-origin',
  'X-Frame-Options',
  'DENY',
  'Cross-Origin-Opener-Policy',
  'same-origin',
]

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The dashboard and the API reference. */
export const SITE_PAGES: readonly string[] = ['/', '/docs']

export type Site = ReturnType<typeof createSite>

/**
 * Holds the built page in memory. It is built while the service starts; the first visitor waits for it.
 * @param folder resolves to the built page; called once, and again after a failure
 */
export function createSite(folder: () => Promise<string>) {
  let files: Promise<Map<string, DashboardReply>> | undefined
  const load = () => {
    files ??= folder()
      .then(readFiles)
      .catch((error) => {
        files = undefined
        throw error
      })
    return files
  }
  load().catch(() => {})
  return {
    /** Undefined for a path that is not a file of the page. */
    async find(path: string): Promise<DashboardReply | undefined> {
      const isAsset = path.startsWith('/assets/')
      if (!SITE_PAGES.includes(path) && path !== '/favicon.svg' && !isAsset) return undefined
      const file = (await load()).get(path)
      if (file === undefined) throw new DashboardError(404, 'not_found', 'There is no such file.')
      return file
    },
  }
}

/** The files are few and never change, so each is compressed once per encoding. */
export function encodedFile(): EncodedFile {
  const forms = new Map<string, Buffer>()
  return {
    get: (encoding) => forms.get(encoding),
    set: (encoding, bytes) => void forms.set(encoding, bytes),
  }
}

function readFiles(folder: string): Map<string, DashboardReply> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
  return new Map(
    names.map((name) => {
      const path = name === 'index.html' ? '/' : `/${name.replace(/\.html$/, '')}`
      // Asset names contain the hash of their content.
      const isFixed = path.startsWith('/assets/')
      const headers = [
        'Content-Type',
        TYPES[extname(name)] ?? 'application/octet-stream',
        'Cache-Control',
        isFixed ? 'public, max-age=31536000, immutable' : 'no-cache',
      ]
      const body = readFileSync(join(folder, name))
      return [path, { status: 200, headers, body, encoded: encodedFile() }]
    }),
  )
}
