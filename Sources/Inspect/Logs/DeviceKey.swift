import JSON

/// A user in one environment of a container.
struct UserKey: Hashable, Sendable {
    let container, environment, user: ExactText
}

extension UserKey {
    init?(_ json: JSONValue) {
        guard let container = json[.container]?.exact, let environment = json[.environment]?.exact,
            let user = json[.user]?.exact
        else { return nil }
        self.init(container: container, environment: environment, user: user)
    }
}

/// One of a user's devices.
struct DeviceKey: Hashable, Sendable {
    let user: UserKey
    let device: ExactText
}

extension DeviceKey {
    init?(_ json: JSONValue) {
        guard let user = UserKey(json), let device = json[.device]?.exact else { return nil }
        self.init(user: user, device: device)
    }
}

/// Where a transport reaches a device. No two devices have the same address at the same time.
package struct DeviceAddress: Hashable, Sendable {
    package let container, environment, transport, token: ExactText
    package let topic: ExactText?

    init?(_ json: JSONValue) {
        guard let container = json[.container]?.exact, let environment = json[.environment]?.exact,
            let transport = json[.transport]?.exact, let token = json[.token]?.exact
        else { return nil }
        (self.container, self.environment, self.transport, self.token) = (container, environment, transport, token)
        topic = json[.topic]?.exact
    }
}
