import CloudKitModel

/// Checks the record name of a user who makes requests.
enum UserName {
    /// These words stand for an owner in the IDs of zones, so a user with such a name would share zones with others.
    private static let placeholders = [ZoneID.currentUser, ZoneID.defaultOwner].map(\.description)

    /// Why a user cannot have the name; nil if a user can have it.
    static func problem(_ name: String) -> String? {
        if placeholders.contains(name) {
            return "\(name) stands for the owner of a zone, so no user can have this name"
        }
        return NameRule.user.accepts(name) ? nil : NameRule.user.rule
    }
}
