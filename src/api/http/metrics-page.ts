import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '../../core/errors.ts'
import { errorReply } from '../../gate/error-reply.ts'
import type { GateReply } from '../../gate/request.ts'
import type { Metrics } from '../../kit/metrics.ts'

/** Metrics on the main port, protected by the token. */
export async function metricsReply(
  headers: IncomingHttpHeaders,
  requestId: string,
  options: { metricsToken: string | null; metrics: Metrics },
): Promise<GateReply> {
  const { metricsToken, metrics } = options
  if (metricsToken === null || !isSame(headers.authorization ?? '', `Bearer ${metricsToken}`)) {
    const error = new ApiError(
      'unauthorized',
      'Metrics need the bearer token TAPELINE_METRICS_TOKEN, or the port TAPELINE_METRICS_PORT.',
      {},
      [['WWW-Authenticate', 'Bearer']],
    )
    return errorReply(error, requestId, headers.accept)
  }
  const body = await metrics.registry.metrics()
  return {
    status: 200,
    headers: ['Content-Type', metrics.registry.contentType, 'Cache-Control', 'no-store'],
    body,
  }
}

/** Compares in constant time. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'))
}
