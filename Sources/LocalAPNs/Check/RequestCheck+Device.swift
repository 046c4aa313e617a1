/// Checks the device token, and the state of the device.
extension RequestCheck {
    func checkDeviceToken(_ inspection: inout Inspection, by registry: Registry) throws(Refusal) {
        let path = inspection.request.header(":path") ?? ""
        let text = path.dropFirst(RequestCheck.pathPrefix.count + 1)
        guard !text.isEmpty else { throw .bad("MissingDeviceToken") }
        guard let token = DeviceToken.normalized(text) else { throw .bad("BadDeviceToken") }
        inspection.deviceToken = token
        let apps = registry.devices[token, default: [:]].values
        guard !apps.isEmpty || !registry.isStrict else { throw .bad("BadDeviceToken") }
        guard apps.isEmpty || apps.contains(where: { $0.isOf(environment) }) else {
            throw .bad("BadDeviceToken")
        }
    }

    func checkDevice(_ inspection: Inspection, by registry: Registry) throws(Refusal) {
        guard let token = inspection.deviceToken, let bundle = inspection.bundle else { return }
        guard let apps = registry.devices[token] else { return }
        guard let device = apps[bundle], device.isOf(environment) else {
            throw .bad("DeviceTokenNotForTopic")
        }
        switch device.state {
        case .active, .offline: return
        case .unregistered: throw .answer(status: 410, reason: "Unregistered", timestamp: device.since)
        case .expired: throw .answer(status: 410, reason: "ExpiredToken", timestamp: device.since)
        }
    }
}

/// A device token: opaque bytes, written in hexadecimal digits. Its length is not fixed.
package enum DeviceToken {
    /// The token in lower case. Nil unless the text consists of 2 to 512 hexadecimal digits and their number is even.
    package static func normalized(_ text: some StringProtocol) -> String? {
        guard (2...512).contains(text.utf8.count), text.utf8.count % 2 == 0 else { return nil }
        return text.allSatisfy { $0.isASCII && $0.isHexDigit } ? text.lowercased() : nil
    }
}
