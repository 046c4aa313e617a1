/// Checks the topic: whether the provider may send to this app.
extension RequestCheck {
    func checkTopic(
        _ inspection: inout Inspection, on connection: ConnectionState, by registry: Registry
    ) throws(Refusal) {
        let topic = try topic(of: inspection.request, on: connection)
        guard TopicText.isWellFormed(topic) else { throw .bad("BadTopic") }
        inspection.topic = topic
        guard let bundle = inspection.type?.bundle(of: topic) ?? untypedBundle(inspection, topic) else {
            throw disallowed
        }
        if let certificate = connection.certificate {
            try check(topic, bundle, of: inspection.type, by: certificate)
        } else if let allowed = inspection.providerToken?.key.bundles {
            guard allowed.contains(bundle) else { throw disallowed }
        }
        try check(bundle, &inspection, on: connection, by: registry)
    }

    private var disallowed: Refusal { .bad("TopicDisallowed") }

    /// The bundle ID in the topic of a request without a push type. Such a topic may have the suffix of any type.
    private func untypedBundle(_ inspection: Inspection, _ topic: String) -> String? {
        inspection.type == nil ? PushType.bundle(of: topic) : nil
    }

    private func topic(of request: PushRequest, on connection: ConnectionState) throws(Refusal) -> String {
        if let topic = request.header("apns-topic") { return topic }
        guard let topics = connection.certificate?.topics, topics.count == 1 else { throw .bad("MissingTopic") }
        return topics[0]
    }

    private func check(
        _ topic: String, _ bundle: String, of type: PushType?, by certificate: ClientCertificate
    ) throws(Refusal) {
        guard type?.needsProviderToken != true else { throw disallowed }
        guard certificate.topics.contains(topic) || certificate.topics.contains(bundle) else { throw disallowed }
    }

    private func check(
        _ bundle: String, _ inspection: inout Inspection, on connection: ConnectionState, by registry: Registry
    ) throws(Refusal) {
        guard let bundles = registry.bundles, !(connection.bundles ?? bundles).contains(bundle) else { return }
        if bundles.contains(bundle) {
            inspection.warnings.append(
                "\(bundle) was registered after this connection's first push: open another connection")
        }
        throw disallowed
    }
}

/// The form of topics: at most 255 bytes, in parts of ASCII letters, digits, `-` and `_`, which are separated by dots.
package enum TopicText {
    package static func isWellFormed(_ topic: String) -> Bool {
        let parts = topic.split(separator: ".", omittingEmptySubsequences: false)
        return topic.utf8.count <= 255 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(isAllowed) }
    }

    private static func isAllowed(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || character == "-" || character == "_")
    }
}
