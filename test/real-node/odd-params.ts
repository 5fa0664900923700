/** Params that a node refuses, or on which it closes the connection. */
export const UNKNOWN_HASH = '7f'.repeat(32)
/** Params that a node refuses, by method. */
export const BAD_PARAMS: Record<string, readonly unknown[]> = {
  getBlock: [{}, { hash: 'xyz' }, { hash: UNKNOWN_HASH, includeTransactions: false }, { hash: 5 }],
  getBlocks: [
    { lowHash: UNKNOWN_HASH, includeBlocks: true, includeTransactions: false },
    { includeBlocks: false, includeTransactions: true },
    {},
  ],
  getVirtualChainFromBlock: [{ startHash: UNKNOWN_HASH, includeAcceptedTransactionIds: false }, {}],
  getVirtualChainFromBlockV2: [
    { startHash: UNKNOWN_HASH },
    { startHash: UNKNOWN_HASH, dataVerbosityLevel: 'Most' },
  ],
  getBalanceByAddress: [{ address: 'kaspasim:qqq' }, { address: 'kaspa:qz' }, {}],
  getBalancesByAddresses: [{ addresses: ['x'] }, { addresses: 'x' }],
  getUtxosByAddresses: [{ addresses: ['x'] }, {}],
  getMempoolEntry: [
    { transactionId: UNKNOWN_HASH, includeOrphanPool: true, filterTransactionPool: false },
    { transactionId: 'zz', includeOrphanPool: true, filterTransactionPool: false },
  ],
  getCurrentBlockColor: [{ hash: UNKNOWN_HASH }],
  getBlockRewardInfo: [{ hash: UNKNOWN_HASH }],
  getDaaScoreTimestampEstimate: [{ daaScores: 'x' }],
  estimateNetworkHashesPerSecond: [{ windowSize: 20_000 }, { windowSize: 10, startHash: UNKNOWN_HASH }],
  getBlockTemplate: [{ payAddress: 'x', extraData: [] }],
  submitBlock: [{ block: {}, allowNonDaaBlocks: false }, {}],
  submitTransaction: [
    { transaction: {}, allowOrphan: false },
    {
      transaction: {
        ...{
          version: 0,
          inputs: [],
          outputs: [],
          lockTime: 0,
          subnetworkId: '00'.repeat(20),
          gas: 0,
          payload: '',
        },
        mass: 0,
      },
      allowOrphan: false,
    },
  ],
  getSubnetwork: [{ subnetworkId: '00'.repeat(20) }],
  getHeaders: [{ startHash: UNKNOWN_HASH, limit: 1, isAscending: true }],
}

/** Whole frames as no client should send them. */
export const ODD_FRAMES: Readonly<Record<string, string>> = {
  'unknown method': '{"id":900,"method":"getNothing","params":{}}',
  'method of nobody': '{"id":900,"method":"noOp","params":{}}',
  'notify over this protocol': '{"id":900,"method":"notifyBlockAdded","params":{}}',
  'no params': '{"id":900,"method":"getSink"}',
  'params null': '{"id":900,"method":"getSink","params":null}',
  'params a list': '{"id":900,"method":"getSink","params":[]}',
  'id as text': '{"id":"900","method":"getSink","params":{}}',
  'negative id': '{"id":-1,"method":"getSink","params":{}}',
  'id null': '{"id":null,"method":"getSink","params":{}}',
  'no id': '{"method":"getSink","params":{}}',
  'no method': '{"id":900,"params":{}}',
  'a list': '[{"id":900,"method":"getSink","params":{}}]',
  'no JSON': '{"id":900,',
  'unknown members': '{"jsonrpc":"2.0","id":900,"method":"ping","params":{"x":1},"y":2}',
  'a method that only an unsafe node takes': '{"id":900,"method":"shutdown","params":{}}',
  'a ban without an address': '{"id":900,"method":"ban","params":{}}',
  'a ban': '{"id":900,"method":"ban","params":{"ip":"127.0.0.2"}}',
  'an unban': '{"id":900,"method":"unban","params":{"ip":"127.0.0.2"}}',
  'a peer':
    '{"id":900,"method":"addPeer","params":{"peerAddress":{"ip":"127.0.0.2","port":1},"isPermanent":false}}',
  'a conflict to resolve': `{"id":900,"method":"resolveFinalityConflict","params":{"finalityBlockHash":"${UNKNOWN_HASH}"}}`,
}
