/**
 * Addresses of nodes and venues contain keys in the path, in the query, or as user and password. Only the host is
 * shown.
 */

/** `wss://***@node.example.com/***` for an address with a password and a path. */
export function redactAddress(address: string): string {
  if (!/^(?:https?|wss?):\/\//i.test(address) || !URL.canParse(address)) return '***'
  const { protocol, host, username, password, pathname, search, hash } = new URL(address)
  const isBare = (pathname === '/' || pathname === '') && search === '' && hash === ''
  const user = username === '' && password === '' ? '' : '***@'
  return `${protocol}//${user}${host}${isBare ? '' : '/***'}`
}

/** Everything up to the last @ of the authority, including commas and colons. */
const USER_OF_ADDRESS = /(\b[a-z][a-z0-9+.-]*:\/\/)[^/?#\s"'\\]*@/gi
const SOCKET_ADDRESS = /\bwss?:\/\/[^\s"'\\,]+/gi

/** The same for addresses inside a longer text. For web addresses only user and password are replaced. */
export function redactAddresses(text: string): string {
  if (!text.includes('://')) return text
  return text.replace(USER_OF_ADDRESS, '$1***@').replace(SOCKET_ADDRESS, (found) => {
    const rest = /^(wss?:\/\/[^/?#]*)([/?#].+)?$/i.exec(found)
    return rest?.[2] === undefined ? found : `${rest[1]}/***`
  })
}
