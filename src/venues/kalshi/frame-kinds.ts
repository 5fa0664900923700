/** Kinds of frames that are known and were not asked for. */
export const NOT_RECORDED: ReadonlySet<string> = new Set([
  'market_lifecycle_v2',
  'event_lifecycle',
  'event_fee_update',
  'multivariate_market_lifecycle',
  'multivariate_lookup',
  'multivariate',
  'fill',
  'market_position',
  'user_order',
  'user_orders',
  'order_group_updates',
  'communications',
  'rfq_created',
  'rfq_deleted',
  'quote_created',
  'quote_accepted',
  'quote_executed',
  'cfbenchmarks_value',
  'cfbenchmarks_value_indexlist',
  'pyth_value',
  'pyth_value_underlying_list',
])

/** What the venue may answer a command with; all others are complaints like any. */
export const ERROR = {
  alreadySubscribed: 6,
  unknownMarket: 16,
  /** Whether the command was done is not known. */
  commandTimeout: 18,
  bufferOverflow: 25,
} as const
