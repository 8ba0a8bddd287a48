package apptest

// CodesKey is a key for approvals.totp_key; every world has it in its environment as
// CODES_KEY. CodesKeyBefore is another one.
const (
	CodesKey       = "5yKq0Zf3uR8mVw1xBhTgPnLs7cDjE2oA9iUeYtQbXk4="
	CodesKeyBefore = "9c41f0e2b7a85d36102f4e8b7d93ca65f8e1730b4d29a6c58e07f1b2d3946a5c"
)

// settings are what every world runs with; options add to them.
const settings = `
roles:
  manager: {usergroups: [S0MGR]}
  finance: {usergroups: [S0FIN]}
@ROLES@@APPROVALS@
tools:
  files: {root: "@DIR@/data"}
  docs: {path: "@DIR@/docs"}
  sql:
    - {name: shop, url: "sqlite:@DIR@/shop.db", write: true}
  http:
    - name: send_topup_reminder
      description: Send a customer a reminder to top up their balance.
      method: POST
      url: "@SHOP@/customers/{customer_id}/reminders"
      risk: medium
      idempotent: true
      private_network: true
      parameters:
        type: object
        properties: {customer_id: {type: integer}, message: {type: string, minLength: 1}}
        required: [customer_id, message]
    - name: get_order
      description: Look up one order of the shop.
      method: GET
      url: "@SHOP@/orders/{order_id}"
      private_network: true
      parameters: {type: object, properties: {order_id: {type: integer}}, required: [order_id]}
    - name: refund
      description: Refund an order, or a part of it.
      method: POST
      url: "@SHOP@/orders/{order_id}/refund"
      risk: high
      idempotent: true
      private_network: true
      preview: {url: "@SHOP@/orders/{order_id}", fields: [status, amount, refunded]}
      parameters:
        type: object
        properties: {order_id: {type: integer}, amount: {type: number, exclusiveMinimum: 0}}
        required: [order_id, amount]
`
