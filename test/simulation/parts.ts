/** All parts that a simulation can have. */
import { chainKind } from './chain/part.ts'
import { exchangeKind } from './exchange.ts'
import { marketsKind } from './markets.ts'
import { oracleKind } from './oracle.ts'
import type { Random } from './random.ts'
import { chainReadersKind } from './readers/on-chain.ts'
import { readersKind } from './readers/part.ts'
import type { PartKind } from './simulation.ts'

export const PARTS: readonly PartKind[] = [
  exchangeKind('spot'),
  exchangeKind('futures'),
  exchangeKind('perp'),
  chainKind,
  oracleKind,
  marketsKind('kalshi'),
  marketsKind('polymarket'),
  readersKind,
  chainReadersKind,
]

/** The parts of a seed's world, usually one. */
export function drawParts(random: Random): PartKind[] {
  return [random.pick(PARTS)]
}
