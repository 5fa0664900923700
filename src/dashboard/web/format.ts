/** How numbers and times are shown. */
const whole = new Intl.NumberFormat('en-US')
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

export const count = (value: number) => whole.format(value)
export const compact = (value: number) => short.format(value)
export const percent = (share: number) => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`

export function dateTime(text: string | null): string {
  if (text === null) return '–'
  return new Date(text).toISOString().slice(0, 16).replace('T', ' ')
}

export function day(text: string): string {
  return new Date(text).toLocaleDateString('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' })
}

export function ago(text: string | null, nowMs = Date.now()): string {
  if (text === null) return 'never'
  const seconds = Math.round((nowMs - Date.parse(text)) / 1000)
  if (seconds < 0) return dateTime(text)
  if (seconds < 5) return 'just now'
  if (seconds < 90) return `${seconds} s ago`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min ago`
  if (seconds < 129_600) return `${Math.round(seconds / 3_600)} h ago`
  return `${Math.round(seconds / 86_400)} days ago`
}
