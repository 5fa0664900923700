/** Who can reach the service, and whether anybody in between can read the traffic. */

import { addressMatcher, parseCidr } from '../kit/ip-range.ts'
import type { Config } from './config.ts'

const isLoopbackAddress = addressMatcher(
  ['127.0.0.0/8', '::1/128'].flatMap((range) => parseCidr(range) ?? []),
)

export function isLoopback(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(host)
}

/** Why keys and passwords can be read in transit; undefined if they cannot. */
export function exposure(
  config: Pick<Config, 'host' | 'tlsCert' | 'trustedProxies' | 'roles'>,
): string | undefined {
  const { host, tlsCert, trustedProxies, roles } = config
  // Without this role a process only answers whether it is healthy.
  if (isLoopback(host) || tlsCert !== null || trustedProxies.length > 0 || !roles.includes('api'))
    return undefined
  return `The service listens on ${host} without TLS: whoever is on the way can read keys and passwords. Set TAPELINE_TLS_CERT and TAPELINE_TLS_KEY, or put a proxy with TLS in front of it and name it in TAPELINE_TRUSTED_PROXIES.`
}
