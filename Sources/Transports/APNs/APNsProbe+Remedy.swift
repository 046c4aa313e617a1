/// What each verdict means, and what is to be done.
extension APNsProbe.Verdict {
    public var text: String {
        switch self {
        case .good: "key, team, topic, environment and clock are right"
        case .credential: "APNs does not take the key or certificate"
        case .environment: "the key or certificate is for the other environment"
        case .topic: "APNs does not take the topic with this key"
        case .token: "APNs does not take the provider token's time"
        case .unreachable: "there is no answer"
        case .unclear: "APNs says something else"
        }
    }

    /// Nil where nothing is wrong.
    public var remedy: String? {
        switch self {
        case .good: nil
        case .credential: "compare key, team and the .p8 file with developer.apple.com, Keys: it may have been revoked"
        case .environment: "take one for this environment, or change it"
        case .topic: "compare topic with the app's bundle ID and the key's topics"
        case .token: "set this machine's clock (timedatectl); if it is right, see who else makes tokens with this key"
        case .unreachable: "see host, port, proxy, trust and the firewall: APNs needs 443 or 2197"
        case .unclear: "try again later; see Apple's system status"
        }
    }
}
