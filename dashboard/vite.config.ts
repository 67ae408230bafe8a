import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const server = process.env['FOREMAN_API_URL'] ?? 'http://127.0.0.1:8080';

export default defineConfig({
  plugins: [react(), tailwindcss()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  server: {
    proxy: {
      '/api': { target: server, changeOrigin: true },
      '/docs': { target: server, changeOrigin: true },
    },
  },
  build: {
    target: 'es2022',
    assetsDir: 'assets',
    // The content security policy knows neither inline scripts nor data: URLs for scripts, styles and fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  worker: { format: 'es' },
});
