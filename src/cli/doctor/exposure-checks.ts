/** Who can reach the service, and what they can reach through it. */
import { exposure, isLoopback } from '../../config/exposure.ts'
import { type DoctorCheck, NOTHING } from './check.ts'

export const plainExposure: DoctorCheck = {
  name: 'exposure',
  run({ config }) {
    const finding = exposure(config)
    return finding === undefined ? NOTHING : [{ finding, todo: 'See docs/guides/tls.md.' }]
  },
}

/** Cookies depend on the public address, and so do links in answers and messages. */
export const publicUrl: DoctorCheck = {
  name: 'public URL',
  run({ config: { host, publicUrl: url, trustedProxies } }) {
    if (isLoopback(host) && trustedProxies.length === 0) return NOTHING
    if (url === null)
      return [
        {
          finding: 'Others reach the service, and it does not know under which address.',
          todo: 'Set TAPELINE_PUBLIC_URL to the https:// address that callers use.',
        },
      ]
    if (url.startsWith('https:')) return NOTHING
    return [
      {
        finding: `TAPELINE_PUBLIC_URL is ${url}: browsers send the cookies of the dashboard without TLS.`,
        todo: 'Serve it over TLS, and set the https:// address.',
      },
    ]
  },
}

export const trustedProxies: DoctorCheck = {
  name: 'trusted proxies',
  run({ config: { trustedProxies: ranges } }) {
    const all = ranges.filter((range) => /\/0$/.test(range))
    if (all.length === 0) return NOTHING
    return [
      {
        finding: `TAPELINE_TRUSTED_PROXIES contains ${all.join(', ')}: every caller can claim any address, and escapes limits by address.`,
        todo: 'Name the addresses of your proxies only.',
      },
    ]
  },
}

export const metrics: DoctorCheck = {
  name: 'metrics',
  async run({ config: { publicUrl: url }, statusOf }) {
    if (url === null) return NOTHING
    const address = `${url.replace(/\/+$/, '')}/metrics`
    if ((await statusOf(address)) !== 200) return NOTHING
    return [
      {
        finding: `${address} answers everybody.`,
        todo: 'Let the proxy pass the main port on, not that of TAPELINE_METRICS_PORT.',
      },
    ]
  },
}

export const webhookTargets: DoctorCheck = {
  name: 'webhook targets',
  run({ config: { allowPrivateWebhooks, host, trustedProxies: proxies } }) {
    if (!allowPrivateWebhooks || (isLoopback(host) && proxies.length === 0)) return NOTHING
    return [
      {
        finding:
          'Customers can make the service send requests into its own network (TAPELINE_ALLOW_PRIVATE_WEBHOOKS).',
        todo: 'Switch it off, unless all customers are your own.',
      },
    ]
  },
}
