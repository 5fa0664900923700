/** The networks that a node can claim to be on. */
import type { AddressPrefix } from './consensus/address.ts'

export const NETWORKS = {
  mainnet: { type: 'mainnet', prefix: 'kaspa' },
  'testnet-10': { type: 'testnet', prefix: 'kaspatest' },
  'testnet-12': { type: 'testnet', prefix: 'kaspatest' },
  simnet: { type: 'simnet', prefix: 'kaspasim' },
  devnet: { type: 'devnet', prefix: 'kaspadev' },
} as const satisfies Record<string, { type: string; prefix: AddressPrefix }>

export type NetworkId = keyof typeof NETWORKS

export function isNetworkId(text: string): text is NetworkId {
  return Object.hasOwn(NETWORKS, text)
}
