/** Line icons, 20 × 20. */
const PATHS: Record<string, string> = {
  explorer:
    'M3 16h14M5 13V9m0-2V5m-1.5 4h3v-2h-3zM10 14v-3m0-4V3m-1.5 8h3V7h-3zM15 12v-1m0-4V6m-1.5 5h3V7h-3z',
  keys: 'M12.5 3a4.5 4.5 0 1 0-4.3 5.9L3 14v3h3v-2h2v-2h2l1.1-1.1A4.5 4.5 0 0 0 12.5 3zm1 3.5h.01',
  usage: 'M4 17V9m4 8V4m4 13v-6m4 6V7',
  webhooks:
    'M7 9a3.5 3.5 0 1 1 5 3M6.5 9.5 4.6 13a2.6 2.6 0 1 0 2.9 2.9h5M10 5.7l2.3 4.2a3.2 3.2 0 1 1-.4 5.6',
  status: 'M2 10h3.5l2-5 4 11 2.5-6H18',
  operator: 'M10 3 4 5.5V10c0 3.5 2.5 6 6 7 3.5-1 6-3.5 6-7V5.5zM7.5 10l2 2 3-4',
  account: 'M10 10a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM3.8 17c.6-3 3-4.6 6.2-4.6s5.6 1.6 6.2 4.6',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  close: 'M5 5l10 10M15 5 5 15',
  menu: 'M3 6h14M3 10h14M3 14h14',
  sun: 'M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM10 2v1.5M10 16.500V18M2 10h1.500M16.500 10H18M4.300 4.300l1.100 1.100M14.600 14.600l1.100 1.100M4.300 15.700l1.100-1.100M14.600 5.400l1.100-1.100',
  moon: 'M16 11.500A6.500 6.500 0 0 1 8.500 4 6.500 6.500 0 1 0 16 11.500z',
}

export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={PATHS[name] ?? ''} />
    </svg>
  )
}
