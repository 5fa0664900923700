/** The Kaspa networks, and what differs between them for a client. */
type NetworkType = 'mainnet' | 'testnet' | 'simnet' | 'devnet'

/** As the node spells it (`networkId`). A testnet always has a number: `testnet-10`. */
export type Network = 'mainnet' | 'simnet' | 'devnet' | `testnet-${number}`

export const ADDRESS_PREFIXES = ['kaspa', 'kaspatest', 'kaspasim', 'kaspadev'] as const
export type AddressPrefix = (typeof ADDRESS_PREFIXES)[number]

export interface NetworkInfo {
  /** All testnets share one prefix: an address does not distinguish testnet-10 from testnet-12. */
  readonly addressPrefix: AddressPrefix
  readonly coin: 'KAS' | 'TKAS'
}

const INFO: Record<NetworkType, NetworkInfo> = {
  mainnet: { addressPrefix: 'kaspa', coin: 'KAS' },
  testnet: { addressPrefix: 'kaspatest', coin: 'TKAS' },
  simnet: { addressPrefix: 'kaspasim', coin: 'TKAS' },
  devnet: { addressPrefix: 'kaspadev', coin: 'TKAS' },
}

/** This is the same on every network. */
export const BLOCKS_PER_SECOND = 10

const TESTNET = /^testnet-(?:0|[1-9]\d{0,4})$/

/** Reads a network id as the node writes it; undefined for anything else. */
export function parseNetwork(text: string): Network | undefined {
  if (text === 'mainnet' || text === 'simnet' || text === 'devnet') return text
  return TESTNET.test(text) ? (text as Network) : undefined
}

export function networkInfo(network: Network): NetworkInfo {
  return network === 'mainnet' || network === 'simnet' || network === 'devnet' ? INFO[network] : INFO.testnet
}

export function isAddressPrefix(text: string): text is AddressPrefix {
  return (ADDRESS_PREFIXES as readonly string[]).includes(text)
}
