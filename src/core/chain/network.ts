/** The Kaspa networks, and what differs between them for a client. */
type NetworkType = 'mainnet' | 'testnet' | 'simnet' | 'devnet'

/** The node's own spelling (`networkId`). A testnet always has a number: `testnet-10`. */
export type Network = 'mainnet' | 'simnet' | 'devnet' | `testnet-${number}`

export const ADDRESS_PREFIXES = ['kaspa', 'kaspatest', 'kaspasim', 'kaspadev'] as const
export type AddressPrefix = (typeof ADDRESS_PREFIXES)[number]

export interface NetworkInfo {
  readonly type: NetworkType
  /** All testnets share one prefix: an address does not distinguish testnet-10 from testnet-12. */
  readonly addressPrefix: AddressPrefix
  readonly coin: 'KAS' | 'TKAS'
  readonly wrpcJsonPort: number
  readonly wrpcBorshPort: number
  /** How many blocks the network makes. */
  readonly blocksPerSecond: number
}

const INFO: Record<NetworkType, NetworkInfo> = {
  mainnet: {
    type: 'mainnet',
    addressPrefix: 'kaspa',
    coin: 'KAS',
    wrpcJsonPort: 18_110,
    wrpcBorshPort: 17_110,
    blocksPerSecond: 10,
  },
  testnet: {
    type: 'testnet',
    addressPrefix: 'kaspatest',
    coin: 'TKAS',
    wrpcJsonPort: 18_210,
    wrpcBorshPort: 17_210,
    blocksPerSecond: 10,
  },
  simnet: {
    type: 'simnet',
    addressPrefix: 'kaspasim',
    coin: 'TKAS',
    wrpcJsonPort: 18_510,
    wrpcBorshPort: 17_510,
    blocksPerSecond: 10,
  },
  devnet: {
    type: 'devnet',
    addressPrefix: 'kaspadev',
    coin: 'TKAS',
    wrpcJsonPort: 18_610,
    wrpcBorshPort: 17_610,
    blocksPerSecond: 10,
  },
}

const TESTNET = /^testnet-(?:0|[1-9]\d{0,4})$/

/** Reads a network id as the node writes it; undefined for anything else. */
export function parseNetwork(text: string): Network | undefined {
  if (text === 'mainnet' || text === 'simnet' || text === 'devnet') return text
  return TESTNET.test(text) ? (text as Network) : undefined
}

function networkType(network: Network): NetworkType {
  if (network === 'mainnet' || network === 'simnet' || network === 'devnet') return network
  return 'testnet'
}

export function networkInfo(network: Network): NetworkInfo {
  return INFO[networkType(network)]
}

export function isAddressPrefix(text: string): text is AddressPrefix {
  return (ADDRESS_PREFIXES as readonly string[]).includes(text)
}
