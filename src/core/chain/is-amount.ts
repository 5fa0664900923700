/** Whether a member of the node's answer is an integer without lost digits. */
export function isAmount(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || Number.isSafeInteger(value)
}
