package apptest

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
