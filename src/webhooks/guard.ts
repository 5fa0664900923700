import { isIP, type LookupFunction } from 'node:net'
import { classifyAddress } from './public-address.ts'

/**
 * Decides where a webhook may be sent. A target is checked twice:
 *
 *   at creation   text ──▶ form (scheme, userinfo, port, host) ──▶ every address its name has
 *   at delivery   the same form again ──▶ `lookup` of the connection itself: the address that was checked
 *                 is the address that is connected to, so a name that changes in between gains nothing
 *
 * Redirects are never followed, so that nothing unchecked can be reached.
 */
export interface GuardOptions {
  /** Private and loopback targets are allowed, including plain http to them. */
  readonly allowPrivate: boolean
  readonly resolve: Resolve
}

/** All addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly { address: string; family: number }[]>

export interface Guard {
  /** Checks the form alone; throws TargetError. */
  checkForm(text: string): URL
  /** Checks the form and every address that the name has now; throws TargetError. */
  check(text: string): Promise<URL>
  /** For the connection: resolves the name, checks its addresses and returns only checked ones. */
  lookup(protocol: string): LookupFunction
}

export class TargetError extends Error {
  override readonly name = 'TargetError'
}

const MAX_URL = 2_048
const MAX_HOST = 253
const FIRST_FREE_PORT = 1_024
/** Names that by convention mean this machine or this network, whatever a resolver says. */
const LOCAL_NAMES =
  /(^|\.)(localhost|local|localdomain|internal|intranet|lan|home|corp|private|home\.arpa|onion|test|invalid)$/

export function createGuard(options: GuardOptions): Guard {
  const { allowPrivate, resolve } = options

  function checkForm(text: string): URL {
    if (text.length > MAX_URL) throw new TargetError(`url is longer than ${MAX_URL} characters`)
    // URL parsers disagree about these characters and could read another host than we do.
    if (/[\s\\\p{Cc}\p{Cf}]/u.test(text))
      throw new TargetError('url has blanks, control characters or backslashes')
    if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) {
      throw new TargetError('url must be an absolute https:// address')
    }
    const url = new URL(text)
    if (url.protocol !== 'https:' && !allowPrivate) throw new TargetError('url must be https')
    if (/^[a-z]+:\/\/[^/?#]*@/i.test(text)) throw new TargetError('url must carry no user name or password')
    const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
    if (port !== 443 && port < FIRST_FREE_PORT) {
      throw new TargetError(`port ${port} is not allowed; allowed are 443 and ${FIRST_FREE_PORT} to 65535`)
    }
    checkHost(url)
    return url
  }

  function checkHost(url: URL): void {
    const host = hostOf(url)
    if (isIP(host) !== 0) {
      checkAddress(host, url.protocol)
      return
    }
    if (host === '' || host.length > MAX_HOST || host.split('.').includes('')) {
      throw new TargetError('the host name is not valid')
    }
    if (allowPrivate) return
    if (!host.includes('.') || LOCAL_NAMES.test(host)) {
      throw new TargetError(`${host} is a name of a private network`)
    }
  }

  /**
   * Messages never show the addresses of a name, because they would reveal to strangers what names mean in our network.
   */
  function checkAddress(address: string, protocol: string, isOfName = false): void {
    const kind = classifyAddress(address)
    const isRefused = kind === 'refused' || (kind === 'private' && !allowPrivate)
    if (isRefused && isOfName) throw new TargetError('the host has an address that is not public')
    if (kind === 'refused') throw new TargetError(`${address} is not an address for webhooks`)
    if (isRefused) throw new TargetError(`${address} is not a public address`)
    if (kind === 'public' && protocol !== 'https:') {
      throw new TargetError('plain http is allowed for private addresses only')
    }
  }

  async function checkedAddresses(host: string, protocol: string) {
    const addresses = await resolve(host)
    if (addresses.length === 0) throw new TargetError(`${host} has no address`)
    for (const { address } of addresses) checkAddress(address, protocol, true)
    return addresses
  }

  return {
    checkForm,
    async check(text) {
      const url = checkForm(text)
      const host = hostOf(url)
      if (isIP(host) === 0) await checkedAddresses(host, url.protocol)
      return url
    },
    lookup: (protocol) => (hostname, lookupOptions, callback) => {
      checkedAddresses(hostname, protocol).then(
        (addresses) => {
          const wanted = addresses.filter(
            ({ family }) => !lookupOptions.family || family === Number(lookupOptions.family),
          )
          const [first] = wanted
          if (first === undefined) callback(new TargetError(`${hostname} has no address`), '', 0)
          else if (lookupOptions.all) callback(null, [...wanted])
          else callback(null, first.address, first.family)
        },
        (error: Error) => callback(error, '', 0),
      )
    },
  }
}

/** The host in the form that a resolver expects: no brackets, no trailing dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}
