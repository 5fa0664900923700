import type { PublicPage } from '../../dashboard/pages/public-page.ts'
import type { GateReply } from '../../gate/request.ts'

/** Allows no inline code and nothing from other origins. */
const CSP =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"

export async function publicReply({ contentType, maxAgeSeconds, read }: PublicPage): Promise<GateReply> {
  const found = await read()
  const headers = [
    'Content-Type',
    contentType,
    'Content-Security-Policy',
    CSP,
    'Cache-Control',
    `public, max-age=${maxAgeSeconds}`,
  ]
  return typeof found === 'string' || Buffer.isBuffer(found)
    ? { status: 200, headers, body: found }
    : { status: 200, headers, ...found }
}
