/** The instructions that tags and signature paths look at. */
export const OP = {
  PUSH_DATA_4: 0x4e,
  IF: 0x63,
  NOT_IF: 0x64,
  ELSE: 0x67,
  ENDIF: 0x68,
  VERIFY: 0x69,
  RETURN: 0x6a,
  TO_ALT_STACK: 0x6b,
  FROM_ALT_STACK: 0x6c,
  DROP: 0x75,
  DUP: 0x76,
  NUM_EQUAL: 0x9c,
  ZK_PRECOMPILE: 0xa6,
  CHECK_MULTISIG_ECDSA: 0xa9,
  CHECK_SIG_ECDSA: 0xab,
  CHECK_SIG: 0xac,
  CHECK_SIG_VERIFY: 0xad,
  CHECK_MULTISIG: 0xae,
  CHECK_MULTISIG_VERIFY: 0xaf,
} as const

/** The KIP that introduced an instruction with which a script inspects its own transaction. */
export type IntrospectionFamily = 'kip10' | 'kip17' | 'kip20' | 'kip21'

const KIP10 = [0xb3, 0xb4, 0xb9, 0xbe, 0xbf, 0xc2, 0xc3]
const KIP17 = [
  0xb2, 0xb5, 0xb6, 0xb7, 0xb8, 0xba, 0xbb, 0xbc, 0xbd, 0xc0, 0xc1, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9,
]
const KIP20 = [0xcb, 0xcc, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3, 0xd5, 0xd6]
const KIP21 = [0xd4]

const FAMILY_OF = Array.from({ length: 256 }, (_, op): IntrospectionFamily | undefined => {
  if (KIP10.includes(op)) return 'kip10'
  if (KIP17.includes(op)) return 'kip17'
  if (KIP20.includes(op)) return 'kip20'
  return KIP21.includes(op) ? 'kip21' : undefined
})

/** Undefined for instructions that do not inspect the transaction, including the arithmetic of the same KIPs. */
export function introspectionFamily(op: number): IntrospectionFamily | undefined {
  return FAMILY_OF[op]
}
