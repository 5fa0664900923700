/** Nodes, the chain's index and events. */
import { type Network, parseNetwork } from '../core/chain/network.ts'
import { kaspaNodes } from './addresses.ts'
import { onOff, optionalWhole, setting, whole } from './setting.ts'

export const CHAIN_SETTINGS = {
  nodes: setting(
    'NODES',
    'wRPC JSON addresses of the live nodes; backup= before one makes it a backup of the others.',
    [] as string[],
    kaspaNodes,
  ),
  network: setting('NETWORK', 'Kaspa network of the live nodes.', 'mainnet' as Network, {
    allowed: 'mainnet, testnet-<number>, simnet or devnet',
    read: parseNetwork,
  }),
  nodeWaitSeconds: setting(
    'NODE_WAIT_SECONDS',
    'How long transaction lookup (at most 10) and address activity wait for the nodes before they answer 504.',
    30,
    whole(1, 120),
  ),
  eventDays: setting('EVENT_DAYS', 'Days that chain events are kept.', 7, whole(1, 365)),
  eventBytes: setting(
    'EVENT_BYTES',
    'Size above which the oldest chain events are forgotten earlier.',
    8 * 1024 ** 3,
    whole(1_048_576, 1024 ** 4),
  ),
  testEventDays: setting(
    'TEST_EVENT_DAYS',
    'Days that chain events of the test environment are kept.',
    1,
    whole(1, 365),
  ),
  testEventBytes: setting(
    'TEST_EVENT_BYTES',
    'Size above which the oldest chain events of the test environment are forgotten earlier.',
    1024 ** 3,
    whole(1_048_576, 1024 ** 4),
  ),
  indexDays: setting(
    'INDEX_DAYS',
    'Days that indexed transactions are kept; off keeps them all.',
    null,
    optionalWhole(1, 36_500),
  ),
  testIndexDays: setting(
    'TEST_INDEX_DAYS',
    'Days that indexed transactions of the test environment are kept; off keeps them all.',
    1,
    optionalWhole(1, 36_500),
  ),
  allowPrivateWebhooks: setting(
    'ALLOW_PRIVATE_WEBHOOKS',
    'Whether webhooks may go to private and loopback addresses, there also over plain http.',
    false,
    onOff,
  ),
} as const
