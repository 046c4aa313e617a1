import LocalAPNs

/// Says how to point others at the server.
struct APNsPointers {
    let text: String

    init(_ server: LocalAPNs, _ settings: LocalAPNs.Configuration) {
        let credentials = server.credentials
        let (host, environment) = (settings.host, settings.environment.rawValue)
        text = """
            local APNs (\(environment)) at \(host):\(server.port); in a pipeline file:

            transports:
              apns:
                use: apns
                host: \(host)
                port: \(server.port)
                trust: \(credentials.authorityPath)
                apps:
                  - { container: iCloud.\(settings.topic), topic: \(settings.topic), environment: \(environment), \
            team: \(credentials.team), key: { id: \(credentials.keyID), file: {$file: \(credentials.keyPath)} } }

            a certificate in place of the key: \(credentials.clientPath) and \(credentials.clientKeyPath)
            """
    }
}
