import type { AnyEndpoint } from '../../contract/endpoint.ts'
import { limits } from './account/limits.ts'
import { status } from './account/status.ts'
import { addressActivity } from './chain/address-activity.ts'
import { addressBalance } from './chain/address-balance.ts'
import { addressCovenants } from './chain/address-covenants.ts'
import { addressTransactions } from './chain/address-transactions.ts'
import { addressUtxos } from './chain/address-utxos.ts'
import { covenant } from './chain/covenant.ts'
import { covenantUtxos } from './chain/covenant-utxos.ts'
import { feesEstimate } from './chain/fees.ts'
import { rpcEndpoint } from './chain/rpc.ts'
import { submit } from './chain/submit.ts'
import { token } from './chain/token.ts'
import { tokenHolders } from './chain/token-holders.ts'
import { tokens } from './chain/tokens.ts'
import { transactionEndpoint } from './chain/transaction.ts'
import { candles } from './market/candles.ts'
import { futuresListing, spotListing } from './market/exchange-listing.ts'
import { flow } from './market/flow.ts'
import { funding } from './market/funding.ts'
import { liquidations } from './market/liquidations.ts'
import { market, markets } from './market/markets.ts'
import { openInterest } from './market/open-interest.ts'
import { snapshots } from './market/snapshots.ts'
import { snapshotsAt } from './market/snapshots-at.ts'
import { sources } from './market/sources.ts'
import { symbols } from './market/symbols.ts'
import { ticker } from './market/ticker.ts'
import { trades } from './market/trades.ts'
import { asyncapi } from './service/asyncapi.ts'
import { health } from './service/health.ts'
import { openapi } from './service/openapi.ts'
import { ready } from './service/ready.ts'
import type { Services } from './services.ts'
import { createWebhook } from './webhooks/create-webhook.ts'
import { deleteWebhook } from './webhooks/delete-webhook.ts'
import { deliveries } from './webhooks/deliveries.ts'
import { getWebhook } from './webhooks/get-webhook.ts'
import { listWebhooks } from './webhooks/list-webhooks.ts'
import { patchWebhook } from './webhooks/patch-webhook.ts'
import { replayWebhook } from './webhooks/replay-webhook.ts'
import { rotateSecret } from './webhooks/rotate-secret.ts'
import { testWebhook } from './webhooks/test-webhook.ts'

/** The only registry of endpoints. */
export const ENDPOINTS: readonly AnyEndpoint<Services>[] = [
  sources,
  symbols,
  candles,
  snapshots,
  snapshotsAt,
  trades,
  flow,
  openInterest,
  liquidations,
  funding,
  ticker,
  markets,
  market,
  spotListing,
  futuresListing,
  submit,
  transactionEndpoint,
  addressTransactions,
  addressActivity,
  addressBalance,
  addressUtxos,
  addressCovenants,
  covenant,
  covenantUtxos,
  tokens,
  token,
  tokenHolders,
  feesEstimate,
  rpcEndpoint,
  listWebhooks,
  createWebhook,
  getWebhook,
  patchWebhook,
  deleteWebhook,
  deliveries,
  testWebhook,
  rotateSecret,
  replayWebhook,
  limits,
  status,
  health,
  ready,
  openapi,
  asyncapi,
]
